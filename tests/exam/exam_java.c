// SPDX-License-Identifier: Apache-2.0
// For exam_java.java: launch() and tid(), as JNI.
#define _GNU_SOURCE
#include <jni.h>
#include <sys/syscall.h>
#include <unistd.h>

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		   unsigned shared, void *stream, void **arguments, void **extra);

JNIEXPORT void JNICALL Java_Exam_launch(JNIEnv *env, jclass class)
{
	(void)env, (void)class;
	cuLaunchKernel((void *)0x1000, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0);
}

JNIEXPORT jlong JNICALL Java_Exam_tid(JNIEnv *env, jclass class)
{
	(void)env, (void)class;
	return syscall(SYS_gettid);
}
