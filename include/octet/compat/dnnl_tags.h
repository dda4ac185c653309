#ifndef OCTET_COMPAT_DNNL_TAGS_H /* SPDX-License-Identifier: Apache-2.0 */
#define OCTET_COMPAT_DNNL_TAGS_H

/* oneDNN's format tags, once, as lists of (name, number) and (second name, name). They become dnnl_nchw of
   dnnl_types.h, memory::format_tag::nchw of dnnl.hpp and the text "abcd".

   A name in letters says what it means, and is read so by the library: letters are dimensions from outermost
   to innermost in memory; a capital one is split, and its blocks follow behind with their sizes. aBcd16b: b
   in blocks of 16, which are innermost. The numbers are oneDNN 2.6's, in which nothing could be told from
   their order. */

#define OCTET_DNNL_TAGS_PLAIN(tag) \
    tag(a, 2) tag(ab, 3) tag(abc, 4) tag(abcd, 5) tag(acbd, 6) tag(abcde, 7) tag(abcdef, 8)                \
    tag(abcdefg, 9) tag(abcdefgh, 10) tag(abcdefghi, 11) tag(abcdefghij, 12) tag(abcdefghijk, 13)          \
    tag(abcdefghijkl, 14) tag(abdc, 15) tag(abdec, 16) tag(acb, 17) tag(acbde, 18) tag(acbdef, 19)         \
    tag(acdb, 20) tag(acdeb, 21) tag(ba, 22) tag(bac, 23) tag(bacd, 24) tag(bacde, 25) tag(bca, 26)        \
    tag(bcda, 27) tag(bcdea, 28) tag(cba, 29) tag(cdba, 30) tag(dcab, 31) tag(cdeba, 32) tag(decab, 33)    \
    tag(defcab, 34) tag(abced, 35) tag(abcdfe, 36) tag(abcdegf, 37) tag(abcdefhg, 38) tag(abcdefgih, 39)   \
    tag(abcdefghji, 40) tag(abcdefghikj, 41) tag(abcdefghijlk, 42) tag(abdfce, 222) tag(abdefc, 223)       \
    tag(adcb, 291) tag(adecb, 312) tag(adefcb, 335) tag(adbc, 511)

/* Tensors in these can be described, sized, compared and reordered (doc/onednn.md); no other primitive takes
   them. */
#define OCTET_DNNL_TAGS_BLOCKED(tag) \
    tag(Abc16a, 43) tag(ABc16a16b, 44) tag(ABc32a32b, 45) tag(ABc4a4b, 46) tag(aBc16b, 47)                 \
    tag(ABc16b16a, 48) tag(Abc4a, 49) tag(aBc32b, 50) tag(aBc4b, 51) tag(ABc4b16a4b, 52)                   \
    tag(ABc2b8a4b, 53) tag(ABc16b16a4b, 54) tag(ABc16b16a2b, 55) tag(ABc4b4a, 56) tag(ABc8a16b2a, 57)      \
    tag(ABc8a8b, 58) tag(ABc8a4b, 59) tag(aBc8b, 60) tag(ABc8b16a2b, 61) tag(BAc8a16b2a, 62)               \
    tag(ABc8b8a, 63) tag(Abcd16a, 64) tag(Abcd8a, 65) tag(ABcd16a16b, 66) tag(Abcd32a, 67)                 \
    tag(ABcd32a32b, 68) tag(aBcd16b, 69) tag(ABcd16b16a, 70) tag(aBCd16b16c, 71) tag(aBCd16c16b, 72)       \
    tag(Abcd4a, 73) tag(aBcd32b, 74) tag(aBcd4b, 75) tag(ABcd4b16a4b, 76) tag(ABcd16b16a4b, 77)            \
    tag(ABcd16b16a2b, 78) tag(ABcd4b4a, 79) tag(ABcd4a4b, 80) tag(aBCd2c4b2c, 81) tag(aBCd4b8c2b, 82)      \
    tag(aBCd4c16b4c, 83) tag(aBCd2c8b4c, 84) tag(aBCd16c16b4c, 85) tag(aBCd16c16b2c, 86) tag(aBCd4c4b, 87) \
    tag(aBCd4b4c, 88) tag(ABcd8a16b2a, 89) tag(ABcd2b8a4b, 90) tag(ABcd8a8b, 91) tag(ABcd8a4b, 92)         \
    tag(aBcd8b, 93) tag(aBCd4c8b2c, 94) tag(ABcd8b16a2b, 95) tag(aBCd8b16c2b, 96) tag(BAcd8a16b2a, 97)     \
    tag(ABcd8b8a, 98) tag(aBCd8b8c, 99) tag(aBCd8b4c, 100) tag(aBCd8c16b2c, 101) tag(ABcde8a16b2a, 102)    \
    tag(aCBd8b16c2b, 103) tag(aBCd8c8b, 104) tag(Abcde16a, 105) tag(Abcde32a, 106) tag(ABcde16a16b, 107)   \
    tag(BAcde8a16b2a, 108) tag(aBCd2b4c2b, 109) tag(ABcde4b16a4b, 110) tag(ABcde2b8a4b, 111)               \
    tag(aBcde16b, 112) tag(ABcde16b16a, 113) tag(aBCde16b16c, 114) tag(aBCde16c16b, 115)                   \
    tag(aBCde2c8b4c, 116) tag(Abcde4a, 117) tag(aBcde32b, 118) tag(aBcde4b, 119) tag(ABcde4b4a, 120)       \
    tag(ABcde4a4b, 121) tag(aBCde4b4c, 122) tag(aBCde2c4b2c, 123) tag(aBCde4b8c2b, 124)                    \
    tag(aBCde4c16b4c, 125) tag(aBCde16c16b4c, 126) tag(aBCde16c16b2c, 127) tag(aBCde4c4b, 128)             \
    tag(Abcde8a, 129) tag(ABcde8a8b, 130) tag(ABcde8a4b, 131) tag(BAcde16b16a, 132) tag(aBcde8b, 133)      \
    tag(ABcde8b16a2b, 134) tag(aBCde8b16c2b, 135) tag(aBCde4c8b2c, 136) tag(aCBde8b16c2b, 137)             \
    tag(ABcde8b8a, 138) tag(ABcde32a32b, 139) tag(aBCde8b8c, 140) tag(aBCde8b4c, 141)                      \
    tag(ABc4a8b8a4b, 142) tag(ABcd4a8b8a4b, 143) tag(ABcde4a8b8a4b, 144) tag(BAc4b8a8b4a, 145)             \
    tag(BAcd4b8a8b4a, 146) tag(BAcde4b8a8b4a, 147) tag(ABcd2a8b8a2b, 148) tag(aBCd4b8c8b4c, 149)           \
    tag(aBCde4b8c8b4c, 150) tag(aBCde2b8c8b2c, 151) tag(aBCde8c16b2c, 152) tag(aBCde8c8b, 153)             \
    tag(aBCde2b4c2b, 154) tag(aBcdef16b, 155) tag(aBCdef16b16c, 156) tag(aBCdef16c16b, 157)                \
    tag(aBCdef4c16b4c, 158) tag(aBCdef2c8b4c, 159) tag(aBCdef4c8b2c, 160) tag(aBCdef2b4c2b, 161)           \
    tag(aBcdef4b, 162) tag(aBCdef4c4b, 163) tag(aBCdef4b4c, 164) tag(aBCdef2c4b2c, 165)                    \
    tag(aBCdef4b8c2b, 166) tag(aBCdef8b8c, 167) tag(aBCdef8b4c, 168) tag(aBCdef8c16b2c, 169)               \
    tag(aBCdef4b8c8b4c, 170) tag(aBCdef8b16c2b, 171) tag(aCBdef8b16c2b, 172) tag(aBCdef8c8b, 173)          \
    tag(aBdc16b, 174) tag(aBdC16b2c, 175) tag(aBdC16b4c, 176) tag(aBdc4b, 177) tag(aBdc8b, 178)            \
    tag(aBdec16b, 179) tag(aBdeC16b2c, 180) tag(aBdeC16b4c, 181) tag(aBdec32b, 182) tag(aBdec4b, 183)      \
    tag(aBdec8b, 184) tag(aBdefc16b, 185) tag(aBdefC16b2c, 186) tag(aCBdef16c16b, 187) tag(aBdefc4b, 188)  \
    tag(aBdefc8b, 189) tag(Abcdef16a, 190) tag(Abcdef32a, 191) tag(aBedc16b, 192) tag(Acb16a, 193)         \
    tag(AcB16a2b, 194) tag(AcB16a4b, 195) tag(Acb4a, 196) tag(Acb8a, 197) tag(aCBd16b16c, 198)             \
    tag(aCBd16c16b, 199) tag(aCBde16b16c, 200) tag(aCBde16c16b, 201) tag(Acdb16a, 202) tag(AcdB16a2b, 203) \
    tag(AcdB16a4b, 204) tag(Acdb32a, 205) tag(Acdb4a, 206) tag(Acdb8a, 207) tag(Acdeb16a, 208)             \
    tag(AcdeB16a2b, 209) tag(Acdeb4a, 210) tag(Acdeb8a, 211) tag(Adcb16a, 212) tag(BAc16a16b, 213)         \
    tag(BAc16b16a, 214) tag(BAcd16a16b, 215) tag(BAcd16b16a, 216) tag(aCBd4c8b8c4b, 217)                   \
    tag(aCBde4c8b8c4b, 218) tag(aCBdef4c8b8c4b, 219) tag(BAcde16a16b, 220) tag(aCBdef16b16c, 221)          \
    tag(ABc16b32a, 224) tag(ABc16b64a, 225) tag(ABc4b32a4b, 226) tag(ABc4b64a4b, 227) tag(ABc8b32a2b, 228) \
    tag(ABc8b64a2b, 229) tag(AB16b16a, 230) tag(AB16b32a, 231) tag(AB16b64a, 232) tag(AB8b16a2b, 233)      \
    tag(AB8b32a2b, 234) tag(AB8b64a2b, 235) tag(AB4b16a4b, 236) tag(AB4b32a4b, 237) tag(AB4b64a4b, 238)    \
    tag(AB16b16a4b, 239) tag(ABcd16b32a, 240) tag(ABcd16b64a, 241) tag(ABcd4b32a4b, 242)                   \
    tag(ABcd4b64a4b, 243) tag(ABcd8b32a2b, 244) tag(ABcd8b64a2b, 245) tag(ABcde4b32a4b, 246)               \
    tag(ABcde4b64a4b, 247) tag(ABcde16b16a4b, 248) tag(ABcde16b16a2b, 249) tag(ABcde16b32a, 250)           \
    tag(ABcde16b64a, 251) tag(ABcde8b32a2b, 252) tag(ABcde8b64a2b, 253) tag(aBCdef16c16b4c, 254)           \
    tag(aBCdef16c16b2c, 255) tag(AB32a32b8a4b, 256) tag(AB8a4b, 257) tag(AB32a32b8a2b, 258)                \
    tag(AB8a2b, 259) tag(abDc32d, 260) tag(abDC32d4c, 261) tag(abdEc32e, 262) tag(abdEC32e2c, 263)         \
    tag(abdEC32e4c, 264) tag(aBdefC16b4c, 265) tag(AcdeB16a4b, 266) tag(ABcd16a16b2a, 267)                 \
    tag(ABc16a16b2a, 268) tag(aBCd16b16c2b, 269) tag(aBCde16b16c2b, 270) tag(Acb32a, 271)                  \
    tag(AcB32a2b, 272) tag(AcB32a4b, 273) tag(Acb48a, 274) tag(AcB48a2b, 275) tag(AcB48a4b, 276)           \
    tag(Acb64a, 277) tag(AcB64a2b, 278) tag(AcB64a4b, 279) tag(cBa2b, 280) tag(cBa4b, 281)                 \
    tag(aBdc32b, 282) tag(aBdC32b2c, 283) tag(aBdC32b4c, 284) tag(aBdc48b, 285) tag(aBdC48b2c, 286)        \
    tag(aBdC48b4c, 287) tag(aBdc64b, 288) tag(aBdC64b2c, 289) tag(aBdC64b4c, 290) tag(adCb2c, 292)         \
    tag(adCb4c, 293) tag(AcdB32a2b, 294) tag(AcdB32a4b, 295) tag(Acdb48a, 296) tag(AcdB48a2b, 297)         \
    tag(AcdB48a4b, 298) tag(Acdb64a, 299) tag(AcdB64a2b, 300) tag(AcdB64a4b, 301) tag(cdBa2b, 302)         \
    tag(cdBa4b, 303) tag(aBdeC32b2c, 304) tag(aBdeC32b4c, 305) tag(aBdec48b, 306) tag(aBdeC48b2c, 307)     \
    tag(aBdeC48b4c, 308) tag(aBdec64b, 309) tag(aBdeC64b2c, 310) tag(aBdeC64b4c, 311) tag(adeCb2c, 313)    \
    tag(adeCb4c, 314) tag(Acdeb32a, 315) tag(AcdeB32a2b, 316) tag(AcdeB32a4b, 317) tag(Acdeb48a, 318)      \
    tag(AcdeB48a2b, 319) tag(AcdeB48a4b, 320) tag(Acdeb64a, 321) tag(AcdeB64a2b, 322) tag(AcdeB64a4b, 323) \
    tag(cdeBa2b, 324) tag(cdeBa4b, 325) tag(aBdefc32b, 326) tag(aBdefC32b2c, 327) tag(aBdefC32b4c, 328)    \
    tag(aBdefc48b, 329) tag(aBdefC48b2c, 330) tag(aBdefC48b4c, 331) tag(aBdefc64b, 332)                    \
    tag(aBdefC64b2c, 333) tag(aBdefC64b4c, 334) tag(adefCb2c, 336) tag(adefCb4c, 337) tag(AB16b32a4b, 338) \
    tag(AB16b48a4b, 339) tag(AB16b64a4b, 340) tag(AB16b16a2b, 341) tag(AB16b32a2b, 342)                    \
    tag(AB16b48a2b, 343) tag(AB16b64a2b, 344) tag(ABc16b32a4b, 345) tag(ABc16b48a4b, 346)                  \
    tag(ABc16b64a4b, 347) tag(ABc16b32a2b, 348) tag(ABc16b48a2b, 349) tag(ABc16b64a2b, 350)                \
    tag(ABcd16b32a4b, 351) tag(ABcd16b48a4b, 352) tag(ABcd16b64a4b, 353) tag(ABcd16b32a2b, 354)            \
    tag(ABcd16b48a2b, 355) tag(ABcd16b64a2b, 356) tag(ABcde16b32a4b, 357) tag(ABcde16b48a4b, 358)          \
    tag(ABcde16b64a4b, 359) tag(ABcde16b32a2b, 360) tag(ABcde16b48a2b, 361) tag(ABcde16b64a2b, 362)        \
    tag(ABc32a16b, 363) tag(ABcd32a16b, 364) tag(ABcde32a16b, 365) tag(AB48a16b, 366) tag(AB48a32b, 367)   \
    tag(ABc40a16b, 368) tag(ABc40a32b, 369) tag(aBC48b16c, 370) tag(aBC48b32c, 371) tag(ABcd40a16b, 372)   \
    tag(ABcd40a32b, 373) tag(abCd32c, 374) tag(abdCe32c, 375) tag(abdCE32c2e, 376) tag(BA16a16b2a, 377)    \
    tag(BA16a32b2a, 378) tag(BA16a48b2a, 379) tag(BA16a64b2a, 380) tag(BA16a16b4a, 381)                    \
    tag(BA16a32b4a, 382) tag(BA16a48b4a, 383) tag(BA16a64b4a, 384) tag(ABcd8a2b, 385)                      \
    tag(aBdeC16c16b2c, 386) tag(aBdeC16c16b4c, 387) tag(aBdefC16c16b2c, 388) tag(AcB16b16a2b, 389)         \
    tag(AcB16b16a4b, 390) tag(AcdB16b16a2b, 391) tag(AcdB16b16a4b, 392) tag(AcdeB16b16a2b, 393)            \
    tag(aBdefC16c16b4c, 394) tag(AcdeB16b16a4b, 395) tag(AcB16b32a2b, 396) tag(AcB16b32a4b, 397)           \
    tag(AcB16b48a2b, 398) tag(AcB16b48a4b, 399) tag(AcB16b64a2b, 400) tag(AcB16b64a4b, 401)                \
    tag(aBdC16c16b2c, 402) tag(aBdC16c16b4c, 403) tag(aBdC16c32b2c, 404) tag(aBdC16c32b4c, 405)            \
    tag(aBdC16c48b2c, 406) tag(aBdC16c48b4c, 407) tag(aBdC16c64b2c, 408) tag(aBdC16c64b4c, 409)            \
    tag(AcdB16b32a2b, 410) tag(AcdB16b32a4b, 411) tag(AcdB16b48a2b, 412) tag(AcdB16b48a4b, 413)            \
    tag(AcdB16b64a2b, 414) tag(AcdB16b64a4b, 415) tag(aBdeC16c32b2c, 416) tag(aBdeC16c32b4c, 417)          \
    tag(aBdeC16c48b2c, 418) tag(aBdeC16c48b4c, 419) tag(aBdeC16c64b2c, 420) tag(aBdeC16c64b4c, 421)        \
    tag(AcdeB16b32a2b, 422) tag(AcdeB16b32a4b, 423) tag(AcdeB16b48a2b, 424) tag(AcdeB16b48a4b, 425)        \
    tag(AcdeB16b64a2b, 426) tag(AcdeB16b64a4b, 427) tag(aBdefC16c32b2c, 428) tag(aBdefC16c32b4c, 429)      \
    tag(aBdefC16c48b2c, 430) tag(aBdefC16c48b4c, 431) tag(aBdefC16c64b2c, 432) tag(aBdefC16c64b4c, 433)    \
    tag(decbA16a, 434) tag(ABc4a2b, 435) tag(ABc8a2b, 436) tag(aBCd8b2c, 437) tag(ABcde4a2b, 438)          \
    tag(ABcde8a2b, 439) tag(ABcde40a16b, 440) tag(ABcde40a32b, 441) tag(aBCde8b2c, 442)                    \
    tag(ABcde4a8b8a2b, 443) tag(ABcd4a8b8a2b, 444) tag(ABc4a8b8a2b, 445) tag(aBCdef4b8c8b2c, 446)          \
    tag(aBCde4b8c8b2c, 447) tag(aBCd4b8c8b2c, 448) tag(BAcde4b8a8b2a, 449) tag(BAcd4b8a8b2a, 450)          \
    tag(BAc4b8a8b2a, 451) tag(aCBdef4c8b8c2b, 452) tag(aCBde4c8b8c2b, 453) tag(aCBd4c8b8c2b, 454)          \
    tag(aBCdef8b2c, 455) tag(AB32a16b, 456) tag(AB32a32b, 457) tag(BA4b8a8b2a, 458) tag(BA4b8a8b4a, 459)   \
    tag(aBC32b16c, 460) tag(aBC32b32c, 461) tag(aCB4c8b8c2b, 462) tag(aCB4c8b8c4b, 463) tag(ABcd4a2b, 464) \
    tag(ABc2b8a16b4a, 465) tag(ABcd2b8a16b4a, 466) tag(ABcde2b8a16b4a, 467) tag(ABc2a8b16a4b, 468)         \
    tag(ABc2a8b16a2b, 469) tag(ABc2b32a8b, 470) tag(ABcd2a8b16a4b, 471) tag(ABcd2a8b16a2b, 472)            \
    tag(aCBd2c8b16c2b, 473) tag(ABcd2b32a8b, 474) tag(aBCd2c8b16c2b, 475) tag(ABcde2a8b16a4b, 476)         \
    tag(ABcde2a8b16a2b, 477) tag(aCBde2c8b16c2b, 478) tag(ABcde2b32a8b, 479) tag(aBC2b8c16b2c, 480)        \
    tag(aBCd2b8c16b2c, 481) tag(aBCde2b8c16b2c, 482) tag(aBCdef2b8c16b2c, 483) tag(BAcde2b8a16b4a, 484)    \
    tag(BAcd2b8a16b4a, 485) tag(BAc2b8a16b4a, 486) tag(BAcde2b8a16b2a, 487) tag(BAcd2b8a16b2a, 488)        \
    tag(BAc2b8a16b2a, 489) tag(aBCde2c8b16c2b, 490) tag(aBCdef2c8b16c2b, 491) tag(aCBdef2c8b16c2b, 492)    \
    tag(aBCd2b8c16b4c, 493) tag(aBCde2b8c16b4c, 494) tag(BA4b8a16b2a, 495) tag(BA4b8a16b4a, 496)           \
    tag(aCB4c8b16c2b, 497) tag(aCB4c8b16c4b, 498) tag(BA16a16b, 499) tag(BA16a32b, 500) tag(BA16a48b, 501) \
    tag(BA16a64b, 502) tag(aCB16c2b, 503) tag(aCB16c4b, 504) tag(BA16b2a, 505) tag(BA16b4a, 506)           \
    tag(aBC16b16c, 507) tag(aBC16b32c, 508) tag(AB16a16b, 509) tag(AB16a32b, 510) tag(ABcde16a16b2a, 512)  \
    tag(aBCdef16b16c2b, 513)

/* Second names, with the dimensions' roles: n, c, d, h, w of activations, g, o, i of weights, t, l of
   sequences. */
#define OCTET_DNNL_TAGS_NAMED(name) \
    name(x, a) name(nc, ab) name(cn, ba) name(tn, ab) name(nt, ba) name(ncw, abc) name(nwc, acb)           \
    name(nchw, abcd) name(nhwc, acdb) name(chwn, bcda) name(ncdhw, abcde) name(ndhwc, acdeb) name(oi, ab)  \
    name(io, ba) name(oiw, abc) name(owi, acb) name(wio, cba) name(iwo, bca) name(oihw, abcd)              \
    name(hwio, cdba) name(ohwi, acdb) name(ihwo, bcda) name(iohw, bacd) name(oidhw, abcde)                 \
    name(iodhw, bacde) name(dhwio, cdeba) name(odhwi, acdeb) name(idhwo, bcdea) name(goiw, abcd)           \
    name(gowi, abdc) name(wigo, dcab) name(goihw, abcde) name(gohwi, abdec) name(hwigo, decab)             \
    name(giohw, acbde) name(goidhw, abcdef) name(godhwi, abdefc) name(giodhw, acbdef) name(dhwigo, defcab) \
    name(tnc, abc) name(ntc, bac) name(ldnc, abcd) name(ldigo, abcde) name(ldgoi, abdec) name(ldio, abcd)  \
    name(ldoi, abdc) name(ldgo, abcd) name(ldOi32o, abDc32d) name(ldOI32o4i, abDC32d4c)                    \
    name(ldIo32i, abCd32c) name(ldgOi32o, abdEc32e) name(ldgOI32o2i, abdEC32e2c)                           \
    name(ldgOI32o4i, abdEC32e4c) name(ldgIo32i, abdCe32c) name(ldgIO32i2o, abdCE32c2e)                     \
    name(nCdhw32c, aBcde32b) name(nCdhw16c, aBcde16b) name(nCdhw4c, aBcde4b) name(nCdhw8c, aBcde8b)        \
    name(nChw32c, aBcd32b) name(nChw16c, aBcd16b) name(nChw4c, aBcd4b) name(nChw8c, aBcd8b)                \
    name(nCw32c, aBc32b) name(nCw16c, aBc16b) name(nCw4c, aBc4b) name(nCw8c, aBc8b)                        \
    name(NCw16n16c, ABc16a16b) name(NCdhw16n16c, ABcde16a16b) name(NChw16n16c, ABcd16a16b)                 \
    name(NCw32n16c, ABc32a16b) name(NChw32n16c, ABcd32a16b) name(NCdhw32n16c, ABcde32a16b)                 \
    name(NCw32n32c, ABc32a32b) name(NChw32n32c, ABcd32a32b) name(NCdhw32n32c, ABcde32a32b)                 \
    name(OI16i16o, AB16b16a) name(OI16i32o, AB16b32a) name(OI16i64o, AB16b64a) name(OI8i16o2i, AB8b16a2b)  \
    name(OI8i32o2i, AB8b32a2b) name(OI8i64o2i, AB8b64a2b) name(OI4i16o4i, AB4b16a4b)                       \
    name(OI4i32o4i, AB4b32a4b) name(OI4i64o4i, AB4b64a4b) name(OI16i16o4i, AB16b16a4b)                     \
    name(IOw16o16i, BAc16a16b) name(IOw16i16o, BAc16b16a) name(OIw16i16o, ABc16b16a)                       \
    name(OIw16i32o, ABc16b32a) name(OIw16i64o, ABc16b64a) name(OIw16o16i, ABc16a16b) name(Oiw16o, Abc16a)  \
    name(OIw4i16o4i, ABc4b16a4b) name(OIw4i32o4i, ABc4b32a4b) name(OIw4i64o4i, ABc4b64a4b)                 \
    name(OIw2i8o4i, ABc2b8a4b) name(OIw16i16o4i, ABc16b16a4b) name(OIw16i16o2i, ABc16b16a2b)               \
    name(OIw16o16i2o, ABc16a16b2a) name(OIw4i4o, ABc4b4a) name(OIw4o4i, ABc4a4b) name(Oiw4o, Abc4a)        \
    name(OIw8i16o2i, ABc8b16a2b) name(OIw8i32o2i, ABc8b32a2b) name(OIw8i64o2i, ABc8b64a2b)                 \
    name(OIw8i8o, ABc8b8a) name(OIw8o16i2o, ABc8a16b2a) name(IOw8o16i2o, BAc8a16b2a)                       \
    name(OIw8o8i, ABc8a8b) name(OIw8o4i, ABc8a4b) name(Owi16o, Acb16a) name(OwI16o2i, AcB16a2b)            \
    name(OwI16o4i, AcB16a4b) name(Owi4o, Acb4a) name(Owi8o, Acb8a) name(IOhw16i16o, BAcd16b16a)            \
    name(IOhw16o16i, BAcd16a16b) name(Ohwi16o, Acdb16a) name(OhwI16o2i, AcdB16a2b)                         \
    name(OhwI16o4i, AcdB16a4b) name(Ohwi32o, Acdb32a) name(Ohwi4o, Acdb4a) name(Ohwi8o, Acdb8a)            \
    name(OIhw16i16o, ABcd16b16a) name(OIhw16i32o, ABcd16b32a) name(OIhw16i64o, ABcd16b64a)                 \
    name(OIhw16o16i, ABcd16a16b) name(Oihw16o, Abcd16a) name(OIhw4i16o4i, ABcd4b16a4b)                     \
    name(OIhw4i32o4i, ABcd4b32a4b) name(OIhw4i64o4i, ABcd4b64a4b) name(OIhw16i16o4i, ABcd16b16a4b)         \
    name(OIhw16i16o2i, ABcd16b16a2b) name(OIhw16o16i2o, ABcd16a16b2a) name(OIhw4i4o, ABcd4b4a)             \
    name(OIhw4o4i, ABcd4a4b) name(Oihw4o, Abcd4a) name(OIhw8i16o2i, ABcd8b16a2b)                           \
    name(OIhw8i32o2i, ABcd8b32a2b) name(OIhw8i64o2i, ABcd8b64a2b) name(OIhw8i8o, ABcd8b8a)                 \
    name(OIhw8o16i2o, ABcd8a16b2a) name(OIhw2i8o4i, ABcd2b8a4b) name(IOhw8o16i2o, BAcd8a16b2a)             \
    name(OIhw8o8i, ABcd8a8b) name(OIhw8o4i, ABcd8a4b) name(Owhi16o, Adcb16a) name(Odhwi16o, Acdeb16a)      \
    name(OdhwI16o2i, AcdeB16a2b) name(OdhwI16o4i, AcdeB16a4b) name(Odhwi4o, Acdeb4a)                       \
    name(Odhwi8o, Acdeb8a) name(OIdhw16i16o, ABcde16b16a) name(OIdhw16i32o, ABcde16b32a)                   \
    name(OIdhw16i64o, ABcde16b64a) name(OIdhw16o16i, ABcde16a16b) name(Oidhw16o, Abcde16a)                 \
    name(OIdhw4i4o, ABcde4b4a) name(OIdhw4o4i, ABcde4a4b) name(Oidhw4o, Abcde4a)                           \
    name(OIdhw8i16o2i, ABcde8b16a2b) name(OIdhw8i32o2i, ABcde8b32a2b) name(OIdhw8i64o2i, ABcde8b64a2b)     \
    name(OIdhw8i8o, ABcde8b8a) name(OIdhw8o16i2o, ABcde8a16b2a) name(IOdhw8o16i2o, BAcde8a16b2a)           \
    name(OIdhw4i16o4i, ABcde4b16a4b) name(OIdhw4i32o4i, ABcde4b32a4b) name(OIdhw4i64o4i, ABcde4b64a4b)     \
    name(OIdhw16i16o4i, ABcde16b16a4b) name(OIdhw16i16o2i, ABcde16b16a2b) name(OIdhw2i8o4i, ABcde2b8a4b)   \
    name(OIdhw8o8i, ABcde8a8b) name(OIdhw8o4i, ABcde8a4b) name(IOdhw16i16o, BAcde16b16a)                   \
    name(OIdhw4o8i8o4i, ABcde4a8b8a4b) name(IOdhw16o16i, BAcde16a16b) name(OIdhw16o16i2o, ABcde16a16b2a)   \
    name(Goiw16g, Abcd16a) name(Goiw8g, Abcd8a) name(Goiw4g, Abcd4a) name(gIOw16o16i, aCBd16b16c)          \
    name(gIOw16i16o, aCBd16c16b) name(gOIw16i16o, aBCd16c16b) name(gOIw16o16i, aBCd16b16c)                 \
    name(gOiw16o, aBcd16b) name(gOIw4i16o4i, aBCd4c16b4c) name(gOIw2i8o4i, aBCd2c8b4c)                     \
    name(gOIw16i16o4i, aBCd16c16b4c) name(gOIw16i16o2i, aBCd16c16b2c) name(gOIw16o16i2o, aBCd16b16c2b)     \
    name(gOIw4i4o, aBCd4c4b) name(gOIw4o4i, aBCd4b4c) name(gOiw4o, aBcd4b) name(gOIw8i16o2i, aBCd8c16b2c)  \
    name(gOIw8i8o, aBCd8c8b) name(gOIw8o16i2o, aBCd8b16c2b) name(gIOw8o16i2o, aCBd8b16c2b)                 \
    name(gOIw8o8i, aBCd8b8c) name(gOIw8o4i, aBCd8b4c) name(gOwi16o, aBdc16b) name(gOwI16o2i, aBdC16b2c)    \
    name(gOwI16o4i, aBdC16b4c) name(gOwi4o, aBdc4b) name(gOwi8o, aBdc8b) name(Goiw32g, Abcd32a)            \
    name(gOIw2i4o2i, aBCd2c4b2c) name(gOIw2o4i2o, aBCd2b4c2b) name(gOIw4i8o2i, aBCd4c8b2c)                 \
    name(gOIw4o8i2o, aBCd4b8c2b) name(gIOhw16i16o, aCBde16c16b) name(gIOhw16o16i, aCBde16b16c)             \
    name(gOhwi16o, aBdec16b) name(gOhwI16o2i, aBdeC16b2c) name(gOhwI16o4i, aBdeC16b4c)                     \
    name(gOhwi32o, aBdec32b) name(gOhwi4o, aBdec4b) name(gOhwi8o, aBdec8b) name(Goihw16g, Abcde16a)        \
    name(gOIhw16i16o, aBCde16c16b) name(gOIhw16o16i, aBCde16b16c) name(gOihw16o, aBcde16b)                 \
    name(gOIhw2i8o4i, aBCde2c8b4c) name(gOIhw4i16o4i, aBCde4c16b4c) name(gOIhw16i16o4i, aBCde16c16b4c)     \
    name(gOIhw16i16o2i, aBCde16c16b2c) name(gOIhw16o16i2o, aBCde16b16c2b) name(gOIhw4i4o, aBCde4c4b)       \
    name(gOIhw4o4i, aBCde4b4c) name(gOihw4o, aBcde4b) name(Goihw8g, Abcde8a) name(Goihw4g, Abcde4a)        \
    name(gOIhw8i16o2i, aBCde8c16b2c) name(gOIhw8i8o, aBCde8c8b) name(gOIhw8o16i2o, aBCde8b16c2b)           \
    name(gIOhw8o16i2o, aCBde8b16c2b) name(gOIhw8o8i, aBCde8b8c) name(gOIhw8o4i, aBCde8b4c)                 \
    name(Goihw32g, Abcde32a) name(gOwhi16o, aBedc16b) name(OIw4o8i8o4i, ABc4a8b8a4b)                       \
    name(OIhw4o8i8o4i, ABcd4a8b8a4b) name(IOw4i8o8i4o, BAc4b8a8b4a) name(IOhw4i8o8i4o, BAcd4b8a8b4a)       \
    name(IOdhw4i8o8i4o, BAcde4b8a8b4a) name(OIhw2o8i8o2i, ABcd2a8b8a2b) name(gOIw4o8i8o4i, aBCd4b8c8b4c)   \
    name(gOIhw4o8i8o4i, aBCde4b8c8b4c) name(gOIdhw4o8i8o4i, aBCdef4b8c8b4c)                                \
    name(gIOw4i8o8i4o, aCBd4c8b8c4b) name(gIOhw4i8o8i4o, aCBde4c8b8c4b)                                    \
    name(gIOdhw4i8o8i4o, aCBdef4c8b8c4b) name(gOIhw2o8i8o2i, aBCde2b8c8b2c) name(gOIhw2i4o2i, aBCde2c4b2c) \
    name(gOIhw2o4i2o, aBCde2b4c2b) name(gOIhw4i8o2i, aBCde4c8b2c) name(gOIhw4o8i2o, aBCde4b8c2b)           \
    name(gIOdhw16i16o, aCBdef16c16b) name(gIOdhw16o16i, aCBdef16b16c) name(gOdhwi16o, aBdefc16b)           \
    name(gOdhwI16o2i, aBdefC16b2c) name(gOdhwI16o4i, aBdefC16b4c) name(gOdhwi4o, aBdefc4b)                 \
    name(gOdhwi8o, aBdefc8b) name(gOIdhw16i16o, aBCdef16c16b) name(gOIdhw4i16o4i, aBCdef4c16b4c)           \
    name(gOIdhw16i16o4i, aBCdef16c16b4c) name(gOIdhw2i8o4i, aBCdef2c8b4c)                                  \
    name(gOIdhw16i16o2i, aBCdef16c16b2c) name(gOIdhw16o16i, aBCdef16b16c)                                  \
    name(gOIdhw16o16i2o, aBCdef16b16c2b) name(gOidhw16o, aBcdef16b) name(gOIdhw4i4o, aBCdef4c4b)           \
    name(gOIdhw4o4i, aBCdef4b4c) name(gOidhw4o, aBcdef4b) name(gOIdhw8i16o2i, aBCdef8c16b2c)               \
    name(gOIdhw8i8o, aBCdef8c8b) name(gOIdhw8o16i2o, aBCdef8b16c2b) name(gIOdhw8o16i2o, aCBdef8b16c2b)     \
    name(gOIdhw8o8i, aBCdef8b8c) name(gOIdhw8o4i, aBCdef8b4c) name(Goidhw16g, Abcdef16a)                   \
    name(Goidhw32g, Abcdef32a) name(gOIdhw2i4o2i, aBCdef2c4b2c) name(gOIdhw4i8o2i, aBCdef4c8b2c)           \
    name(gOIdhw2o4i2o, aBCdef2b4c2b) name(gOIdhw4o8i2o, aBCdef4b8c2b) name(Owi32o, Acb32a)                 \
    name(OwI32o2i, AcB32a2b) name(OwI32o4i, AcB32a4b) name(Owi48o, Acb48a) name(OwI48o2i, AcB48a2b)        \
    name(OwI48o4i, AcB48a4b) name(Owi64o, Acb64a) name(OwI64o2i, AcB64a2b) name(OwI64o4i, AcB64a4b)        \
    name(wIo2i, cBa2b) name(wIo4i, cBa4b) name(gOwi32o, aBdc32b) name(gOwI32o2i, aBdC32b2c)                \
    name(gOwI32o4i, aBdC32b4c) name(gOwi48o, aBdc48b) name(gOwI48o2i, aBdC48b2c)                           \
    name(gOwI48o4i, aBdC48b4c) name(gOwi64o, aBdc64b) name(gOwI64o2i, aBdC64b2c)                           \
    name(gOwI64o4i, aBdC64b4c) name(gwio, adcb) name(gwIo2i, adCb2c) name(gwIo4i, adCb4c)                  \
    name(OhwI32o, Acdb32a) name(OhwI32o2i, AcdB32a2b) name(OhwI32o4i, AcdB32a4b) name(Ohwi48o, Acdb48a)    \
    name(OhwI48o2i, AcdB48a2b) name(OhwI48o4i, AcdB48a4b) name(Ohwi64o, Acdb64a)                           \
    name(OhwI64o2i, AcdB64a2b) name(OhwI64o4i, AcdB64a4b) name(hwIo2i, cdBa2b) name(hwIo4i, cdBa4b)        \
    name(gOhwI32o, aBdec32b) name(gOhwI32o2i, aBdeC32b2c) name(gOhwI32o4i, aBdeC32b4c)                     \
    name(gOhwi48o, aBdec48b) name(gOhwI48o2i, aBdeC48b2c) name(gOhwI48o4i, aBdeC48b4c)                     \
    name(gOhwi64o, aBdec64b) name(gOhwI64o2i, aBdeC64b2c) name(gOhwI64o4i, aBdeC64b4c) name(ghwio, adecb)  \
    name(ghwIo2i, adeCb2c) name(ghwIo4i, adeCb4c) name(Odhwi32o, Acdeb32a) name(OdhwI32o2i, AcdeB32a2b)    \
    name(OdhwI32o4i, AcdeB32a4b) name(Odhwi48o, Acdeb48a) name(OdhwI48o2i, AcdeB48a2b)                     \
    name(OdhwI48o4i, AcdeB48a4b) name(Odhwi64o, Acdeb64a) name(OdhwI64o2i, AcdeB64a2b)                     \
    name(OdhwI64o4i, AcdeB64a4b) name(dhwIo2i, cdeBa2b) name(dhwIo4i, cdeBa4b) name(gOdhwi32o, aBdefc32b)  \
    name(gOdhwI32o2i, aBdefC32b2c) name(gOdhwI32o4i, aBdefC32b4c) name(gOdhwi48o, aBdefc48b)               \
    name(gOdhwI48o2i, aBdefC48b2c) name(gOdhwI48o4i, aBdefC48b4c) name(gOdhwi64o, aBdefc64b)               \
    name(gOdhwI64o2i, aBdefC64b2c) name(gOdhwI64o4i, aBdefC64b4c) name(gdhwio, adefcb)                     \
    name(gdhwIo2i, adefCb2c) name(gdhwIo4i, adefCb4c) name(OI16i32o4i, AB16b32a4b)                         \
    name(OI16i48o4i, AB16b48a4b) name(OI16i64o4i, AB16b64a4b) name(OI16i16o2i, AB16b16a2b)                 \
    name(OI16i32o2i, AB16b32a2b) name(OI16i48o2i, AB16b48a2b) name(OI16i64o2i, AB16b64a2b)                 \
    name(OIw16i32o4i, ABc16b32a4b) name(OIw16i48o4i, ABc16b48a4b) name(OIw16i64o4i, ABc16b64a4b)           \
    name(OIw16i32o2i, ABc16b32a2b) name(OIw16i48o2i, ABc16b48a2b) name(OIw16i64o2i, ABc16b64a2b)           \
    name(OIhw16i32o4i, ABcd16b32a4b) name(OIhw16i48o4i, ABcd16b48a4b) name(OIhw16i64o4i, ABcd16b64a4b)     \
    name(OIhw16i32o2i, ABcd16b32a2b) name(OIhw16i48o2i, ABcd16b48a2b) name(OIhw16i64o2i, ABcd16b64a2b)     \
    name(OIdhw16i32o4i, ABcde16b32a4b) name(OIdhw16i48o4i, ABcde16b48a4b)                                  \
    name(OIdhw16i64o4i, ABcde16b64a4b) name(OIdhw16i32o2i, ABcde16b32a2b)                                  \
    name(OIdhw16i48o2i, ABcde16b48a2b) name(OIdhw16i64o2i, ABcde16b64a2b) name(OwI16i16o2i, AcB16b16a2b)   \
    name(OwI16i16o4i, AcB16b16a4b) name(OhwI16i16o2i, AcdB16b16a2b) name(OhwI16i16o4i, AcdB16b16a4b)       \
    name(OdhwI16i16o2i, AcdeB16b16a2b) name(OdhwI16i16o4i, AcdeB16b16a4b) name(gOwI16i16o2i, aBdC16c16b2c) \
    name(gOwI16i16o4i, aBdC16c16b4c) name(gOhwI16i16o2i, aBdeC16c16b2c) name(gOhwI16i16o4i, aBdeC16c16b4c) \
    name(gOdhwI16i16o2i, aBdefC16c16b2c) name(gOdhwI16i16o4i, aBdefC16c16b4c)                              \
    name(OwI16i32o2i, AcB16b32a2b) name(OwI16i32o4i, AcB16b32a4b) name(OwI16i48o2i, AcB16b48a2b)           \
    name(OwI16i48o4i, AcB16b48a4b) name(OwI16i64o2i, AcB16b64a2b) name(OwI16i64o4i, AcB16b64a4b)           \
    name(gOwI16i32o2i, aBdC16c32b2c) name(gOwI16i32o4i, aBdC16c32b4c) name(gOwI16i48o2i, aBdC16c48b2c)     \
    name(gOwI16i48o4i, aBdC16c48b4c) name(gOwI16i64o2i, aBdC16c64b2c) name(gOwI16i64o4i, aBdC16c64b4c)     \
    name(OhwI16i32o2i, AcdB16b32a2b) name(OhwI16i32o4i, AcdB16b32a4b) name(OhwI16i48o2i, AcdB16b48a2b)     \
    name(OhwI16i48o4i, AcdB16b48a4b) name(OhwI16i64o2i, AcdB16b64a2b) name(OhwI16i64o4i, AcdB16b64a4b)     \
    name(gOhwI16i32o2i, aBdeC16c32b2c) name(gOhwI16i32o4i, aBdeC16c32b4c)                                  \
    name(gOhwI16i48o2i, aBdeC16c48b2c) name(gOhwI16i48o4i, aBdeC16c48b4c)                                  \
    name(gOhwI16i64o2i, aBdeC16c64b2c) name(gOhwI16i64o4i, aBdeC16c64b4c)                                  \
    name(OdhwI16i32o2i, AcdeB16b32a2b) name(OdhwI16i32o4i, AcdeB16b32a4b)                                  \
    name(OdhwI16i48o2i, AcdeB16b48a2b) name(OdhwI16i48o4i, AcdeB16b48a4b)                                  \
    name(OdhwI16i64o2i, AcdeB16b64a2b) name(OdhwI16i64o4i, AcdeB16b64a4b)                                  \
    name(gOdhwI16i32o2i, aBdefC16c32b2c) name(gOdhwI16i32o4i, aBdefC16c32b4c)                              \
    name(gOdhwI16i48o2i, aBdefC16c48b2c) name(gOdhwI16i48o4i, aBdefC16c48b4c)                              \
    name(gOdhwI16i64o2i, aBdefC16c64b2c) name(gOdhwI16i64o4i, aBdefC16c64b4c) name(hwioG16g, decbA16a)     \
    name(NCdhw40n16c, ABcde40a16b) name(NCw40n16c, ABc40a16b) name(NChw40n16c, ABcd40a16b)                 \
    name(NCw40n32c, ABc40a32b) name(NChw40n32c, ABcd40a32b) name(NCdhw40n32c, ABcde40a32b)                 \
    name(OIdhw4o8i8o2i, ABcde4a8b8a2b) name(OIhw4o8i8o2i, ABcd4a8b8a2b) name(OIw4o8i8o2i, ABc4a8b8a2b)     \
    name(gOIdhw4o8i8o2i, aBCdef4b8c8b2c) name(gOIhw4o8i8o2i, aBCde4b8c8b2c)                                \
    name(gOIw4o8i8o2i, aBCd4b8c8b2c) name(IOdhw4i8o8i2o, BAcde4b8a8b2a) name(IOhw4i8o8i2o, BAcd4b8a8b2a)   \
    name(IOw4i8o8i2o, BAc4b8a8b2a) name(gIOdhw4i8o8i2o, aCBdef4c8b8c2b) name(gIOhw4i8o8i2o, aCBde4c8b8c2b) \
    name(gIOw4i8o8i2o, aCBd4c8b8c2b) name(NCw2c32n8c, ABc2b32a8b) name(NChw2c32n8c, ABcd2b32a8b)           \
    name(NCdhw2c32n8c, ABcde2b32a8b) name(OIw2i8o16i4o, ABc2b8a16b4a) name(OIhw2i8o16i4o, ABcd2b8a16b4a)   \
    name(OIdhw2i8o16i4o, ABcde2b8a16b4a) name(OIw2o8i16o4i, ABc2a8b16a4b) name(OIw2o8i16o2i, ABc2a8b16a2b) \
    name(IOw2i8o16i4o, BAc2b8a16b4a) name(IOw2i8o16i2o, BAc2b8a16b2a) name(OIhw2o8i16o4i, ABcd2a8b16a4b)   \
    name(OIhw2o8i16o2i, ABcd2a8b16a2b) name(IOhw2i8o16i4o, BAcd2b8a16b4a)                                  \
    name(IOhw2i8o16i2o, BAcd2b8a16b2a) name(OIdhw2o8i16o4i, ABcde2a8b16a4b)                                \
    name(OIdhw2o8i16o2i, ABcde2a8b16a2b) name(IOdhw2i8o16i4o, BAcde2b8a16b4a)                              \
    name(IOdhw2i8o16i2o, BAcde2b8a16b2a) name(gOIw2o8i16o2i, aBCd2b8c16b2c)                                \
    name(gIOw2i8o16i2o, aCBd2c8b16c2b) name(gIOhw2i8o16i2o, aBCde2c8b16c2b)                                \
    name(gIOdhw2i8o16i2o, aBCdef2c8b16c2b) name(gOIhw2o8i16o2i, aBCde2b8c16b2c)                            \
    name(gOIdhw2o8i16o2i, aBCdef2b8c16b2c) name(gOIw2o8i16o4i, aBCd2b8c16b4c)                              \
    name(gOIhw2o8i16o4i, aBCde2b8c16b4c)

#endif
