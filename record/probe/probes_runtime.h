/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of libcudart that are probed. Numbers below 119 are the oldest.
 * One line for each function, as record/probe/probes.c explains; this file is included there for its lines alone.
 */
/* clang-format off */

/* launches: the kernel handle (or host stub), grid and block as dim3 */
TWO(32, cudaLaunchKernel, _ptsz,                           launch,      ARGS(8),                                       LAUNCH_3D)
TWO(34, __cudaLaunchKernel, _ptsz,                         launch,      ARGS(8),                                       LAUNCH_3D)
TWO(36, cudaLaunchCooperativeKernel, _ptsz,                launch,      ARGS(8),                                       LAUNCH_3D)
TWO(38, cudaLaunchKernelExC, _ptsz,                        launch,      BEFORE(2, PEEK(0, 0, 5, 3)),                   VALUES(WORD(1), WORD(7), LOW(3), HIGH(3), LOW(4), HIGH(4), LOW(5), HIGH(5), WORD(6)))

/* memory */
ONE(40, cudaMalloc,                                        alloc,       AFTER(2, PEEK(0, 0, 1, 2)),                    VALUES(WORD(1), WORD(2), 0, CONSTANT(MEM_DEVICE)))
ONE(41, cudaMallocManaged,                                 alloc,       AFTER(2, PEEK(0, 0, 1, 3)),                    VALUES(WORD(1), WORD(3), 0, CONSTANT(MEM_MANAGED)))
ONE(42, cudaMallocPitch,                                   alloc,       AFTER(4, PEEK(0, 0, 1, 4), PEEK(1, 0, 1, 5)),  VALUES(PRODUCT(WORD(5), WORD(3)), WORD(4), 0, CONSTANT(MEM_DEVICE)))
ONE(43, cudaMalloc3D,                                      alloc,       MALLOC_3D,                                     MALLOC_3D_VALUES)
ONE(44, cudaMallocHost,                                    alloc,       AFTER(2, PEEK(0, 0, 1, 2)),                    VALUES(WORD(1), WORD(2), 0, CONSTANT(MEM_PINNED)))
ONE(45, cudaHostAlloc,                                     alloc,       AFTER(2, PEEK(0, 0, 1, 3)),                    VALUES(WORD(1), WORD(3), 0, CONSTANT(MEM_PINNED)))
TWO(46, cudaMallocAsync, _ptsz,                            alloc,       AFTER(3, PEEK(0, 0, 1, 3)),                    VALUES(WORD(1), WORD(3), WORD(2), CONSTANT(MEM_DEVICE)))
TWO(48, cudaMallocFromPoolAsync, _ptsz,                    alloc,       AFTER(4, PEEK(0, 0, 1, 4)),                    VALUES(WORD(1), WORD(4), WORD(3), CONSTANT(MEM_DEVICE)))
ONE(50, cudaMallocArray,                                   alloc,       AFTER(1, PEEK(0, 0, 1, 5)),                    VALUES(0, WORD(5), 0, CONSTANT(MEM_ARRAY)))
ONE(51, cudaMalloc3DArray,                                 alloc,       AFTER(1, PEEK(0, 0, 1, 5)),                    VALUES(0, WORD(5), 0, CONSTANT(MEM_ARRAY)))
ONE(52, cudaMallocMipmappedArray,                          alloc,       AFTER(1, PEEK(0, 0, 1, 5)),                    VALUES(0, WORD(5), 0, CONSTANT(MEM_ARRAY)))
ONE(53, cudaFree,                                          free,        ARGS(1),                                       VALUES(WORD(0), 0, CONSTANT(MEM_DEVICE)))
ONE(54, cudaFreeHost,                                      free,        ARGS(1),                                       VALUES(WORD(0), 0, CONSTANT(MEM_PINNED)))
TWO(55, cudaFreeAsync, _ptsz,                              free,        ARGS(2),                                       VALUES(WORD(0), WORD(1), CONSTANT(MEM_DEVICE)))
ONE(57, cudaFreeArray,                                     free,        ARGS(1),                                       VALUES(WORD(0), 0, CONSTANT(MEM_ARRAY)))
ONE(58, cudaFreeMipmappedArray,                            free,        ARGS(1),                                       VALUES(WORD(0), 0, CONSTANT(MEM_ARRAY)))

/* copies: destination, source, bytes, direction, stream; devices of peers */
TWO(59, cudaMemcpy, _ptds,                                 copy,        ARGS(4),                                       VALUES(WORD(0), WORD(1), WORD(2), LOW(3)))
TWO(61, cudaMemcpyAsync, _ptsz,                            copy,        ARGS(5),                                       VALUES(WORD(0), WORD(1), WORD(2), LOW(3), WORD(4)))
TWO(63, cudaMemcpy2D, _ptds,                               copy,        ARGS(7),                                       VALUES(WORD(0), WORD(2), PRODUCT(WORD(4), WORD(5)), LOW(6)))
TWO(65, cudaMemcpy2DAsync, _ptsz,                          copy,        ARGS(8),                                       VALUES(WORD(0), WORD(2), PRODUCT(WORD(4), WORD(5)), LOW(6), WORD(7)))
TWO(67, cudaMemcpyToSymbol, _ptds,                         copy,        ARGS(5),                                       VALUES(WORD(0), WORD(1), WORD(2), LOW(4)))
TWO(69, cudaMemcpyToSymbolAsync, _ptsz,                    copy,        ARGS(6),                                       VALUES(WORD(0), WORD(1), WORD(2), LOW(4), WORD(5)))
TWO(71, cudaMemcpyFromSymbol, _ptds,                       copy,        ARGS(5),                                       VALUES(WORD(0), WORD(1), WORD(2), LOW(4)))
TWO(73, cudaMemcpyFromSymbolAsync, _ptsz,                  copy,        ARGS(6),                                       VALUES(WORD(0), WORD(1), WORD(2), LOW(4), WORD(5)))
TWO(75, cudaMemcpyToArray, _ptds,                          copy,        ARGS(6),                                       VALUES(WORD(0), WORD(3), WORD(4), LOW(5)))
TWO(77, cudaMemcpyToArrayAsync, _ptsz,                     copy,        ARGS(7),                                       VALUES(WORD(0), WORD(3), WORD(4), LOW(5), WORD(6)))
TWO(79, cudaMemcpyFromArray, _ptds,                        copy,        ARGS(6),                                       VALUES(WORD(0), WORD(1), WORD(4), LOW(5)))
TWO(81, cudaMemcpyFromArrayAsync, _ptsz,                   copy,        ARGS(7),                                       VALUES(WORD(0), WORD(1), WORD(4), LOW(5), WORD(6)))
TWO(83, cudaMemcpyArrayToArray, _ptds,                     copy,        ARGS(8),                                       VALUES(WORD(0), WORD(3), WORD(6), LOW(7)))
TWO(85, cudaMemcpy2DToArray, _ptds,                        copy,        ARGS(8),                                       VALUES(WORD(0), WORD(3), PRODUCT(WORD(5), WORD(6)), LOW(7)))
TWO(87, cudaMemcpy2DToArrayAsync, _ptsz,                   copy,        ARGS(9),                                       VALUES(WORD(0), WORD(3), PRODUCT(WORD(5), WORD(6)), LOW(7), WORD(8)))
TWO(89, cudaMemcpy2DFromArray, _ptds,                      copy,        ARGS(8),                                       VALUES(WORD(0), WORD(2), PRODUCT(WORD(5), WORD(6)), LOW(7)))
TWO(91, cudaMemcpy2DFromArrayAsync, _ptsz,                 copy,        ARGS(9),                                       VALUES(WORD(0), WORD(2), PRODUCT(WORD(5), WORD(6)), LOW(7), WORD(8)))
TWO(93, cudaMemcpy2DArrayToArray, _ptds,                   copy,        ARGS(9),                                       VALUES(WORD(0), WORD(3), PRODUCT(WORD(6), WORD(7)), LOW(8)))
TWO(95, cudaMemcpy3D, _ptds,                               copy,        BEFORE(2, COPY_3D_PEEKS),                      VALUES(WORD(3), WORD(2), PRODUCT3(WORD(4), WORD(5), WORD(6)), LOW(7)))
TWO(97, cudaMemcpy3DAsync, _ptsz,                          copy,        BEFORE(2, COPY_3D_PEEKS),                      VALUES(WORD(3), WORD(2), PRODUCT3(WORD(4), WORD(5), WORD(6)), LOW(7), WORD(1)))
TWO(99, cudaMemcpy3DPeer, _ptds,                           copy,        BEFORE(2, COPY_3D_PEER_PEEKS),                 VALUES(WORD(3), WORD(2), PRODUCT3(WORD(4), WORD(5), WORD(6)), DEVICE_TO_DEVICE))
TWO(101, cudaMemcpy3DPeerAsync, _ptsz,                     copy,        BEFORE(2, COPY_3D_PEER_PEEKS),                 VALUES(WORD(3), WORD(2), PRODUCT3(WORD(4), WORD(5), WORD(6)), DEVICE_TO_DEVICE, WORD(1)))
ONE(103, cudaMemcpyPeer,                                   copy,        ARGS(5),                                       VALUES(WORD(0), WORD(2), WORD(4), DEVICE_TO_DEVICE, 0, NEXT(1), NEXT(3)))
ONE(104, cudaMemcpyPeerAsync,                              copy,        ARGS(6),                                       VALUES(WORD(0), WORD(2), WORD(4), DEVICE_TO_DEVICE, WORD(5), NEXT(1), NEXT(3)))

/* fills */
TWO(105, cudaMemset, _ptds,                                set,         ARGS(3),                                       VALUES(WORD(0), WORD(2), LOW(1)))
TWO(107, cudaMemsetAsync, _ptsz,                           set,         ARGS(4),                                       VALUES(WORD(0), WORD(2), LOW(1), WORD(3)))
TWO(109, cudaMemset2D, _ptds,                              set,         ARGS(5),                                       VALUES(WORD(0), PRODUCT(WORD(3), WORD(4)), LOW(2)))
TWO(111, cudaMemset2DAsync, _ptsz,                         set,         ARGS(6),                                       VALUES(WORD(0), PRODUCT(WORD(3), WORD(4)), LOW(2), WORD(5)))

/* waits */
ONE(113, cudaDeviceSynchronize,                            wait,        ARGS(0),                                       NONE)
TWO(114, cudaStreamSynchronize, _ptsz,                     wait,        ARGS(1),                                       VALUES(WORD(0)))
ONE(116, cudaEventSynchronize,                             wait,        ARGS(1),                                       VALUES(WORD(0)))
TWO(117, cudaStreamWaitEvent, _ptsz,                       wait,        ARGS(2),                                       VALUES(WORD(1)))

/* what came later, in the same order */
TWO(119, cudaGraphLaunch, _ptsz,                           launch,      ARGS(2),                                       VALUES(WORD(0), WORD(1)))
TWO(121, cudaLaunchHostFunc, _ptsz,                        launch,      ARGS(2),                                       VALUES(WORD(1), WORD(0)))
TWO(123, cudaStreamAddCallback, _ptsz,                     launch,      ARGS(2),                                       VALUES(WORD(1), WORD(0)))
ONE(125, cudaHostRegister,                                 alloc,       ARGS(2),                                       VALUES(WORD(1), WORD(0), 0, CONSTANT(MEM_REGISTERED)))
ONE(126, cudaHostUnregister,                               free,        ARGS(1),                                       VALUES(WORD(0), 0, CONSTANT(MEM_REGISTERED)))
TWO(127, cudaMemset3D, _ptds,                              set,         SET_3D,                                        SET_3D_VALUES)
TWO(129, cudaMemset3DAsync, _ptsz,                         set,         SET_3D,                                        SET_3D_ASYNC_VALUES)
TWO(131, cudaMemcpyBatchAsync, _ptsz,                      copy,        ARGS(4),                                       VALUES(0, 0, 0, BY_ADDRESS, 0, 0, 0, WORD(3)))
TWO(133, cudaMemcpy3DBatchAsync, _ptsz,                    copy,        ARGS(1),                                       VALUES(0, 0, 0, BY_ADDRESS, 0, 0, 0, WORD(0)))

/* memory of another process, or of another interface: an address that was not allocated here */
ONE(135, cudaIpcOpenMemHandle,                             map,         AFTER(1, PEEK(0, 0, 1, 1)),                    VALUES(WORD(1)))
ONE(136, cudaIpcCloseMemHandle,                            map,         ARGS(1),                                       VALUES(WORD(0)))

/* streams and events: stream, object */
ONE(137, cudaStreamCreate,                                 stream,      AFTER(1, PEEK(0, 0, 1, 1)),                    VALUES(WORD(1)))
ONE(138, cudaStreamCreateWithFlags,                        stream,      AFTER(1, PEEK(0, 0, 1, 1)),                    VALUES(WORD(1)))
ONE(139, cudaStreamCreateWithPriority,                     stream,      AFTER(1, PEEK(0, 0, 1, 1)),                    VALUES(WORD(1)))
ONE(140, cudaStreamDestroy,                                stream,      ARGS(1),                                       VALUES(WORD(0)))
TWO(141, cudaStreamQuery, _ptsz,                           stream,      ASKS(1),                                       VALUES(WORD(0)))
TWO(143, cudaStreamBeginCapture, _ptsz,                    stream,      ARGS(1),                                       VALUES(WORD(0)))
TWO(145, cudaStreamBeginCaptureToGraph, _ptsz,             stream,      ARGS(2),                                       VALUES(WORD(0), WORD(1)))
TWO(147, cudaStreamEndCapture, _ptsz,                      stream,      AFTER(2, PEEK(1, 0, 1, 2)),                    VALUES(WORD(0), WORD(2)))
ONE(149, cudaEventCreate,                                  stream,      AFTER(1, PEEK(0, 0, 1, 1)),                    VALUES(0, WORD(1)))
ONE(150, cudaEventCreateWithFlags,                         stream,      AFTER(1, PEEK(0, 0, 1, 1)),                    VALUES(0, WORD(1)))
ONE(151, cudaEventDestroy,                                 stream,      ARGS(1),                                       VALUES(0, WORD(0)))
TWO(152, cudaEventRecord, _ptsz,                           stream,      ARGS(2),                                       VALUES(WORD(1), WORD(0)))
TWO(154, cudaEventRecordWithFlags, _ptsz,                  stream,      ARGS(2),                                       VALUES(WORD(1), WORD(0)))
ONE(156, cudaEventQuery,                                   stream,      ASKS(1),                                       VALUES(0, WORD(0)))

/* graphs: graph, executable graph, stream */
ONE(157, cudaGraphCreate,                                  graph,       AFTER(1, PEEK(0, 0, 1, 1)),                    VALUES(WORD(1)))
ONE(158, cudaGraphClone,                                   graph,       AFTER(1, PEEK(0, 0, 1, 1)),                    VALUES(WORD(1)))
ONE(159, cudaGraphDestroy,                                 graph,       ARGS(1),                                       VALUES(WORD(0)))
ONE(160, cudaGraphInstantiate,                             graph,       AFTER(2, PEEK(0, 0, 1, 2)),                    VALUES(WORD(1), WORD(2)))
ONE(161, cudaGraphInstantiateWithFlags,                    graph,       AFTER(2, PEEK(0, 0, 1, 2)),                    VALUES(WORD(1), WORD(2)))
TWO(162, cudaGraphInstantiateWithParams, _ptsz,            graph,       AFTER(2, PEEK(0, 0, 1, 2)),                    VALUES(WORD(1), WORD(2)))
TWO(164, cudaGraphUpload, _ptsz,                           graph,       ARGS(2),                                       VALUES(0, WORD(0), WORD(1)))
ONE(166, cudaGraphExecUpdate,                              graph,       ARGS(2),                                       VALUES(WORD(1), WORD(0)))
ONE(167, cudaGraphExecDestroy,                             graph,       ARGS(1),                                       VALUES(0, WORD(0)))

/* the primary context of the current device: context, device */
ONE(168, cudaDeviceReset,                                  context,     ARGS(0),                                       NONE)

/* code, and what its functions are called: module, function */
ONE(169, __cudaRegisterFunction,                           load,        NAMED(4, 1, 3),                        VALUES(WORD(0), WORD(1)))
ONE(170, __cudaGetKernel,                                  load,        ALIAS(2, PEEK(0, 0, 1, 2), 2, 1),              VALUES(0, WORD(2)))
ONE(171, cudaGetKernel,                                    load,        ALIAS(2, PEEK(0, 0, 1, 2), 2, 1),              VALUES(0, WORD(2)))
ONE(172, cudaGetFuncBySymbol,                              load,        ALIAS(2, PEEK(0, 0, 1, 2), 2, 1),              VALUES(0, WORD(2)))
ONE(173, cudaLibraryLoadData,                              load,        AFTER(1, PEEK(0, 0, 1, 1)),                    VALUES(WORD(1)))
ONE(174, cudaLibraryLoadFromFile,                          load,        AFTER(1, PEEK(0, 0, 1, 1)),                    VALUES(WORD(1)))
ONE(175, cudaLibraryUnload,                                load,        ARGS(1),                                       VALUES(WORD(0)))
ONE(176, cudaLibraryGetKernel,                             load,        FOUND(3, PEEK(0, 0, 1, 3), 3, 2),              VALUES(WORD(1), WORD(3)))

/* which device the calls of a thread are for from now on: its device */
ONE(177, cudaSetDevice,                                    context,     ARGS(1),                                       VALUES(0, NEXT(0)))
/* clang-format on */
