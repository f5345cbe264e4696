/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of libnccl that are probed. Their other names (pnccl...) are the same places.
 * One line for each function, as record/probe/probes.c explains; this file is included there for its lines alone.
 */
/* clang-format off */

/* communicator, stream, send, receive, count, type, bytes, operation, peer, rank, ranks */
ONE(480, ncclCommInitRank,                                 collective,  COMM_INIT,                                     COMM_INIT_VALUES)
ONE(481, ncclCommInitRankConfig,                           collective,  COMM_INIT,                                     COMM_INIT_VALUES)
ONE(482, ncclCommInitRankScalable,                         collective,  AFTER(3, PEEK(0, 0, 1, 3)),                    VALUES(WORD(3), 0, 0, 0, 0, 0, 0, 0, 0, LOW(2), LOW(1)))
ONE(483, ncclCommInitAll,                                  collective,  AFTER(2, PEEK(0, 0, 1, 2)),                    VALUES(WORD(2), 0, 0, 0, 0, 0, 0, 0, 0, 0, LOW(1)))
ONE(484, ncclCommSplit,                                    collective,  AFTER(4, PEEK(3, 0, 1, 4)),                    VALUES(WORD(4)))
ONE(485, ncclCommShrink,                                   collective,  AFTER(4, PEEK(3, 0, 1, 4)),                    VALUES(WORD(4)))
ONE(486, ncclCommFinalize,                                 collective,  ARGS(1),                                       VALUES(WORD(0)))
ONE(487, ncclCommDestroy,                                  collective,  ARGS(1),                                       VALUES(WORD(0)))
ONE(488, ncclCommAbort,                                    collective,  ARGS(1),                                       VALUES(WORD(0)))
ONE(489, ncclCommRevoke,                                   collective,  ARGS(1),                                       VALUES(WORD(0)))
ONE(490, ncclAllReduce,                                    collective,  ARGS(7),                                       VALUES(WORD(5), WORD(6), WORD(0), WORD(1), WORD(2), LOW(3), PRODUCT(WORD(2), ELEMENT(3)), LOW(4)))
ONE(491, ncclReduceScatter,                                collective,  ARGS(7),                                       VALUES(WORD(5), WORD(6), WORD(0), WORD(1), WORD(2), LOW(3), PRODUCT(WORD(2), ELEMENT(3)), LOW(4)))
ONE(492, ncclReduce,                                       collective,  ARGS(8),                                       VALUES(WORD(6), WORD(7), WORD(0), WORD(1), WORD(2), LOW(3), PRODUCT(WORD(2), ELEMENT(3)), LOW(4), NEXT(5)))
ONE(493, ncclAllGather,                                    collective,  ARGS(6),                                       VALUES(WORD(4), WORD(5), WORD(0), WORD(1), WORD(2), LOW(3), PRODUCT(WORD(2), ELEMENT(3))))
ONE(494, ncclAlltoAll,                                     collective,  ARGS(6),                                       VALUES(WORD(4), WORD(5), WORD(0), WORD(1), WORD(2), LOW(3), PRODUCT(WORD(2), ELEMENT(3))))
ONE(495, ncclBroadcast,                                    collective,  ARGS(7),                                       VALUES(WORD(5), WORD(6), WORD(0), WORD(1), WORD(2), LOW(3), PRODUCT(WORD(2), ELEMENT(3)), 0, NEXT(4)))
ONE(496, ncclGather,                                       collective,  ARGS(7),                                       VALUES(WORD(5), WORD(6), WORD(0), WORD(1), WORD(2), LOW(3), PRODUCT(WORD(2), ELEMENT(3)), 0, NEXT(4)))
ONE(497, ncclScatter,                                      collective,  ARGS(7),                                       VALUES(WORD(5), WORD(6), WORD(0), WORD(1), WORD(2), LOW(3), PRODUCT(WORD(2), ELEMENT(3)), 0, NEXT(4)))
ONE(498, ncclBcast,                                        collective,  ARGS(6),                                       VALUES(WORD(4), WORD(5), WORD(0), WORD(0), WORD(1), LOW(2), PRODUCT(WORD(1), ELEMENT(2)), 0, NEXT(3)))
ONE(499, ncclSend,                                         collective,  ARGS(6),                                       VALUES(WORD(4), WORD(5), WORD(0), 0, WORD(1), LOW(2), PRODUCT(WORD(1), ELEMENT(2)), 0, NEXT(3)))
ONE(500, ncclRecv,                                         collective,  ARGS(6),                                       VALUES(WORD(4), WORD(5), 0, WORD(0), WORD(1), LOW(2), PRODUCT(WORD(1), ELEMENT(2)), 0, NEXT(3)))
ONE(501, ncclGroupStart,                                   collective,  ARGS(0),                                       NONE)
ONE(502, ncclGroupEnd,                                     collective,  ARGS(0),                                       NONE)

/* memory for it */
ONE(503, ncclMemAlloc,                                     alloc,       AFTER(2, PEEK(0, 0, 1, 2)),                    VALUES(WORD(1), WORD(2), 0, CONSTANT(MEM_DEVICE)))
ONE(504, ncclMemFree,                                      free,        ARGS(1),                                       VALUES(WORD(0), 0, CONSTANT(MEM_DEVICE)))
/* clang-format on */
