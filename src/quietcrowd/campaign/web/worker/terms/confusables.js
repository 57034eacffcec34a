// Confusable characters of UTS #39, Unicode 15.0.0: written by
// python -m tests.campaign.terms.write_confusables, and read by Python as well.
//
// Each word that begins with = is a prototype, its code points in base 36. The words behind it are
// the characters that look like it: the first as a code point, each other one as the difference to
// the one before.
//
// COPYRIGHT AND PERMISSION NOTICE
//
// Copyright (c) 1991-2022 Unicode, Inc. All rights reserved.
// Distributed under the Terms of Use in www.unicode.org/copyright.html.
//
// Permission is hereby granted, free of charge, to any person obtaining a copy of the Unicode data
// files and any associated documentation (the "Data Files") or Unicode software and any associated
// documentation (the "Software") to deal in the Data Files or Software without restriction,
// including without limitation the rights to use, copy, modify, merge, publish, distribute, and/or
// sell copies of the Data Files or Software, and to permit persons to whom the Data Files or
// Software are furnished to do so, provided that either (a) this copyright and permission notice
// appear with all copies of the Data Files or Software, or (b) this copyright and permission notice
// appear in associated Documentation.
//
// THE DATA FILES AND SOFTWARE ARE PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
// IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR
// PURPOSE AND NONINFRINGEMENT OF THIRD PARTY RIGHTS. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR
// HOLDERS INCLUDED IN THIS NOTICE BE LIABLE FOR ANY CLAIM, OR ANY SPECIAL INDIRECT OR CONSEQUENTIAL
// DAMAGES, OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
// ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE
// USE OR PERFORMANCE OF THE DATA FILES OR SOFTWARE.
//
// Except as contained in this notice, the name of a copyright holder shall not be used in
// advertising or otherwise to promote the sale, use or other dealings in these Data Files or
// Software without prior written authorization of the copyright holder.

export const CONFUSABLES = `
=w 4g 4bk 1vm 1 1 1 1 1 1 1 1 u 1 6 1c =x cj 8lq 15f4 =x.x 6d8 =x.1r 6dl =10.6hs 2q6n =12 x2w =13 2o
2c ed 2 1 1 1 a 2 1 15 40 d2 3 3g q e9 1 2fp hu 1rl 2 1r q 1 2 n 3 qqf ha3 1l m4x 1 =13.13 y ig z h
8 l8 2 4in nd 1 2 k 3 34d 14vz =13.13.13 6d0 3 =13.13.13.13 6dz =13.1u ap =13.1w ay =13.28 bo =13.2c
bw =13.2h c3 =13.32 95 =14 7s8 a 1pe 14iy e5 =14.14 948 =14.1e.15 779 =14.1e.27.15 77r =14.1f.15 77a
=14.1g.15 77b =14.1h.15 77c =14.1i.15 77d =14.1j.15 77e =14.1k.15 77f =14.1l.15 77g =14.1t.15 2q6o
=14.1u.15 2q6p =14.1v.15 2q6q =14.1w.15 2q6r =14.1x.15 2q6s =14.1y.15 2q6t =14.1z.15 2q6u =14.20.15
2q6v =14.22.15 2q6x =14.23.15 2q6y =14.24.15 2q6z =14.25.15 2q70 =14.26.15 2q71 =14.27.15 2q72
=14.28.15 2q73 =14.29.15 2q74 =14.2a.15 2q75 =14.2b.15 2q76 8 =14.2c.15 2q77 =14.2d.15 2q78
=14.2e.15 2q79 =14.2f.15 2q7a =14.2g.15 2q7b =14.2h.15 2q7c =14.2i.15 2q7d =14.2p.15 78c =14.2q.15
78d =14.2r.15 78e =14.2s.15 78f =14.2t.15 78g =14.2u.15 78h =14.2v.15 78i =14.2w.15 78j =14.2x.15
78k =14.2y.15 78l =14.2z.15 78m =14.30.15 778 1f 2iy9 =14.30.1e.15 77j =14.30.1f.15 77k =14.30.1g.15
77l =14.30.1h.15 77m =14.30.1i.15 77n =14.30.1j.15 77o =14.30.1k.15 77p =14.30.1l.15 77q
=14.30.27.15 77h =14.30.30.15 77i =14.32.15 78p =14.33.15 78q =14.34.15 78r =14.35.15 78s =14.36.15
78t =14.36.32.15 78o =14.37.15 78u =14.38.15 78v =14.39.15 78w =14.3a.15 78x =14.3b.15 78y =14.3c.15
78z =14.3d.15 790 =14.3e.15 791 =14.3cw.15 9vk =14.3cw.3fl.15 9vy =14.3cy.15 9vl =14.3cy.3fl.15 9vz
=14.3cz.15 9vm =14.3cz.3fl.15 9w0 =14.3d1.15 9vn =14.3d1.3fl.15 9w1 =14.3d2.15 9vo =14.3d2.3fl.15
9w2 =14.3d3.15 9vp =14.3d3.3fl.15 9w3 =14.3d5.15 9vq =14.3d5.3fl.15 9w4 =14.3d7.15 9vr
=14.3d7.3fl.15 9w5 =14.3d7.3ft.3d8.3fp.3hn.15 9wd =14.3d7.3ft.3de.3fy.15 9we =14.3d8.15 9vs
=14.3d8.3fl.15 9w6 =14.3d8.3fy.15 9wc =14.3da.15 9vt =14.3da.3fl.15 9w7 =14.3db.15 9vu
=14.3db.3fl.15 9w8 =14.3dc.15 9vv =14.3dc.3fl.15 9w9 =14.3dd.15 9vw =14.3dd.3fl.15 9wa =14.3de.15
9vx =14.3de.3fl.15 9wb =14.9oc.15 9wg =14.fer.15 9wm =14.fex.15 9wi 2gin =14.fh9.15 9wo =14.fik.15
9wh 2gip =14.fis.15 9wk =14.fkz.15 9x5 =14.flt.15 9x9 =14.fm9.15 9xd =14.g2z.15 9wn =14.g31.15 9wl
=14.gc4.15 9x4 =14.gd9.15 2qfb =14.gg1.15 9wp =14.ggk.15 9xb =14.glp.15 9x0 =14.gos.15 9x6
=14.h5n.15 9wj =14.h7j.15 9wv =14.i1y.15 9x7 =14.i2x.15 2qf7 =14.jf7.15 2qf9 =14.k0n.15 2qfc
=14.k4l.15 9ww =14.kco.15 9wq =14.kcp.15 9wy =14.kdk.15 9wt =14.kdo.15 2qf4 =14.kkq.15 9wx
=14.ldg.15 9ws =14.m7f.15 9wr =14.m9l.15 2qf8 =14.mm1.15 9x1 =14.nh3.15 2qfa =14.nhf.15 9x8
=14.ny6.15 9wz =14.nz1.15 9x3 =14.nzh.15 9xc =14.pnu.15 9xe =14.po3.15 9xf =14.rs1.15 9x2 =14.rt3.15
9xa =14.ssx.15 9wu =15 7s9 a 1pe 14iy e6 =15.15 949 =16 19p 541 cp 18g8 =17 4j1 3ag 179i =17.le 8bn
=17.lf 8bo =17.lj 6qc =17.lm 8bm =17.mb 8bp =17.mo 8bq =17.6f6 8br =18 54 11x 2m 52n q8v =19 k7 sd
4zg 1 1 1 1c cv 138 10k 15em =19.1a wla =19.lj 6rc 16up =19.lk 93u =19.lv 8bt =19.mb 8bu =1a 19c 40
h 1 4yq q8k 7q jsy 13bx =1a.18 wl7 =1a.1a 6cl q8l =1a.1a.1a 6cm =1b 4l1 1sc 3 cx nw gq fh jy fx 8g
4b 79 5m4 24mz =1b.1b 8hp =1b.1b.1b 8hn =1b.lg 8ae =1e br g1 3br sqt 4r 2z 1o52 a a a a 73u =1e.18
2q6b =1e.1a 77t =1e.1e.k4l a9h =1e.1e.m9l a5q =1e.1f.k4l a9i =1e.1f.m9l a5r =1e.1g.k4l a9j
=1e.1g.m9l a5s =1e.1h.k4l a9k =1e.1i.k4l a9l =1e.1j.k4l a9m =1e.1k.k4l a9n =1e.1l.k4l a9o =1e.27.1a
78b =1e.27.k4l a9f =1e.27.m9l a5o =1e.30.k4l a9g =1e.30.m9l a5p =1e.mt cb =1e.k4l a8x =1e.kco a0x
=1e.m9l a56 =1f c7 2t e3 5l 7vw o7y 1t mcf h2p jij 157 a a a a 73u =1f.18 2q6c =1f.1a 77u =1f.27.k4l
a9p =1f.30.k4l a9q =1f.me wo =1f.k4l a8y =1f.kco a0y =1f.m9l a57 =1g 3wu 1fj5 11r7 a a a a 73u
=1g.18 2q6d =1g.1a 77v =1g.53 46o =1g.k4l a8z =1g.kco a0z =1g.m9l a58 =1h cc 1j3z 11qw a a a a 73u
=1h.18 2q6e =1h.1a 77w =1h.k4l a90 =1h.kco a10 =1h.m9l a59 =1i tt 33x 4x0 1amb 11q7 a a a a 73u
=1i.18 2q6f =1i.1a 77x =1i.k4l a91 =1i.kco a11 =1i.m9l a5a =1j 1fiq 3xw 10lo 14z a a a a 73u =1j.18
2q6g =1j.1a 77y =1j.k4l a92 =1j.kco a12 =1j.m9l a5b =1k f6 1 1jb 3k 49 1d07 160s a a a a 3bh 3sd
=1k.18 2q6h =1k.1a 77z =1k.k4l a93 =1k.kco a13 =1k.m9l a5c =1l 1yl 3e 75 ed 671 o84 mda w a 11q9 a a
a a 73u =1l.18 2q6i =1l.1a 780 =1l.k4l a94 =1l.kco a14 =1l.m9l a5d =1m k0 14 i9 1m 8w 1 e7 ao 2g9 7r
6 1n5 d8 ptz i4 h47 6i =1m.1m.1p 8dw =1m.6mq 8ac =1o jm 3g6 hm 1vr 1f9 2caw =1o.1o 6sq =1o.1o.1o 6vs
=1o.53 405 2vl 1y6 =1p 3y8 56o gw mzj =1p.1p 8dx =1p.1p.1p 8dy =1p.le 6s9 =1p.li 6sa =1p.lj 6s0
=1p.lm 6s7 =1p.mb.lj 6s1 =1p.ob 6se =1p.6i8 8dq =1q jn 3g0 2dj 1f9 1sr4 jjs =1q.1o 8f9 =1q.1q 6sr
1it =1q.1q.1q 6vt =1q.53 401 =1r g1 2b 1d5 20h t31 =1r.x 6dk =1r.1r 6dj =1t pd 3j 32y ez sa1 htf ov
lgg jwg 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1k 1m 1m 1m 1m =1t.1t x0y =1t.1x 5i su =1t.27 x10 =1t.2a
2rd3 =1t.2d x12 =1t.2e x14 2 =1t.2h x18 =1u pe 3k 34y eb 27p q04 kk h9q o0 v 2o 15a8 1g 1g 2w 1g 1g
1g 1g 1g 1g 1g 1g 1k 1m 1m 1m 1m =1v s9 14 33y 2lf 17 1s 27r nqu hu1 ov 2o 7n 7b 3wt 9 10y8 1g 1g 1g
1g 4c 1g 1g 1g 1g 1g 6hm =1v.13 av =1v.me x6 =1v.6hs 2q9a =1v.6i3 6g1 =1w 3vk fy c 28r 15 pyd 1nw0
1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g =1w.2i dt =1w.2i.lo ck =1w.3e du =1w.3e.lo cl =1w.mt 5s 1s 3d
=1x ph 3k 32v 2o4 cv 20q nnb hth o1 4dc 8 1106 1g 1g 2w 1g 1g 1g 1g 1g 1g 1g 1g 1k 1m 1m 1m 1m
=1x.mw g6 =1y rg 3iw 29p q0c jf hyn u hs 3ul w 10lt du 1g 1g 2w 1g 1g 1g 1g 1g 1g 1g 1g 9h =1y.1t.2g
6kb =1y.me b5 =1z zw 2wk 1f smb 1nw0 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g =1z.13 b7 =1z.mt dg =20 pj
3q 332 ch 2a7 1 1 29t nrt htt pz 15bs 1g 1g 2w 4c 1g 1g 1g 1g 1g 1j 1m 1m 1m 1m =20.me xz 2 =20.mh
wy 7ut =20.mt 86 =22 ov 3t 337 6a si4 k9 ha0 161r 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g =22.53 42h
=22.mt g8 =23 pm 3k 34c kv 4an nr7 huc 165 14vm 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1j 1m 1m 1m 1m
=23.13 bc =23.mh wq 7v3 =23.mt wu 5jj qkz =24 3xa 5o 2g8 2i 290 npt it6 7f 3ul f h2c jkk dd 1g 1g 2w
1g 1g 1g 1g 1g 1g 1g 1g =24.22 cn =24.2y co =24.mw 8x =25 po 2m y 32z ft 6e 21p 1o 27d nrb hu6 oz 2p
15a3 1g 1g 2w 1g 1g 1g 1g 1g 1g 1g 1g 1j 1m 1m 1m 1m =25.1u 2rfv =25.me y5 =26 pp 5tk 29x nra hu6
15x 14vu 1g 1g 1g 1g 1g 2w 1g 1g 1g 1g 1g 1j 1m 1m 1m 1m =26.22 cq =26.2y cr =26.33 6ja =26.lm 1evi
=26.me bh =27 1c of 3j 8n h7 fa 8q 1y 1gq 53i 52 j7 n3g hto o3 p 9l 5a 2c 33u rp 17 10z2 1g 1g 1g 1g
1g 1g 1g 1g 1g 1g 1g 1g 1k 1m 1m 1m 1m 1c a a a a 73u =27.13 3vo =27.18 2q69 =27.1a 2q68 =27.1x 9e
=27.27 wwo 52 =27.mt bj e1 w p z 3i 3a 2xi 19 2wb 7 5r 1xh o49 1n0w wl a g k c a g k c a g k c a g k
c a g k 66n =27.mw 60 8rt =27.m9l a54 =28 pt 3j 342 3v 2i4 2a1 nqn hun o5 15dm 1g 1g 1g 1g 1g 2w 1g
1g 1g 1g 1g 1l 1m 1m 1m 1m =28.13 41y =29 6je 2ez 2bi3 1g 1g 1g 1g 1g 2w 1g 1g 1g 1g 1g =29.1x 2rcw
=2a bq 3jv 1d c5 2ac 1 1 q12 ixd l1d jj5 e3 1g 1g 2w 4c 1g 1g 1g 1g 1g =2a.37 6g8 =2b sl 96 2va 5
snc hu9 o3 ay l5m jx4 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g =2c pw 3i 328 2yq 111 y5 nqm huo o3 q 2s
49z h1q jyh 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1k 1m 1m 1m 1m 69x =2c.1f x0o =2c.1x.24 6jl =2c.lk
6zl =2c.mg by =2c.mh x8 =2c.mt 9y =2c.mw fy =2c.6i3 6ge =2d 11p 2ib gc 2qm 49 ppt ixm 3xm h3e jwy 1g
1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g =2d.13 413 =2d.53 40o =2d.mt g4 3go =2e vo dv 40 2jm 2e 2lx 2c4 nn2
e1 im6 3ur h2g jk5 eg 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g =2e.1u 2rfw =2e.30 6lh =2e.30.30 6li
=2e.30.30.30 6lj =2e.53 3zv =2e.mt 1evr =2e.5wk 2rd4 =2f 10c 2vr x snq mws 9 10yv 1g 1g 1g 1g 1g 1g
1g 1g 1g 1g 1g 1g =2f.mt 6g9 =2g pz 3i 3m0 22 242 sq 1fd 4x nm6 js had ns 10 2r b ed 3wl 10yz 1g 1g
1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1j 1m 1m 1m 1m =2g.30 6lm =2g.30.30 6ln =2g.mh xe =2g.mt 1evq =2h px
19 29 3v 2yj k 4x7 nr8 hu5 op 4c2 h3z jx1 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1m 1m 1m 1m =2h.mt
4l bt gy =2i pi 371 2n5 4 q0k hum qj 4ac 1o 10z8 1g 1g 1g 1g 4c 1g 1g 1g 1g 1g 10 1m 1m 1m 1m =2i.me
f8 =2i.mt c5 =2k 6qe 14n fc 4 zt k2 5lu ysy 5w 15n7 18 =2k.2k 762 1pr =2k.40l 7uw =2m jo 2 =2n 1kq
1cnn 1 1 =2p gh 9s 3j 66i 17ev 161l 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1k 1m 1m 1m 1m =2p.1b.2r 6io
=2p.1b.37 6ip =2p.2p x0z =2p.2t 6e rz =2p.33 x11 =2p.39 x13 =2p.3a x15 2 =2p.3d x19 =2p.ll 61m
=2p.mq 706 =2q as iw 337 4j 8t 2g6k 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g =2q.13 420 =2q.30 tn =2q.53
41r =2q.lg aq 1 i6 =2q.lj 41f =2q.lj.53 41t =2q.lw gj =2q.mt ao ki 1 15 1 =2r s2 27 4w3 vt 27c p3e
gic ze 1527 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g =2r.1b.33 6it =2r.1b.39 6iu =2r.me x7 =2r.mw 4i be
=2s zl 2xy 3s 2jb 1k pxw 1nwr 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g =2s.13 41z =2s.3e dv 4w =2s.3e.lo
cm =2s.53 41n =2s.f1 is =2s.i9 it =2s.lg b0 =2s.lw gn =2s.mg gm =2s.mt 7l =2s.mt.mp 6gb =2t tx 3s
5m9 1 o r8r glv 161l 1g 1g 2w 1g 1g 1g 1g 1g 1g 1g 1g =2t.mg xr =2t.mw g7 =2u an sl 4yh r24 po 1mne
1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g =2u.2u 1dkw =2u.2u.2x 1dkz =2u.2u.30 1dl0 =2u.2x 1dkx =2u.30
1dky =2u.97 ix =2u.me b6 =2u.ms 5ta =2v b1 5w m8 4qq p3 17wd 161l 1g 1g 2w 1g 1g 1g 1g 1g 1g 1g 1g
=2v.lw gw =2v.mt dh =2w xn 51 2tu 2mk 17wa 161l 2w 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g =2w.lw h2 3gs syr
=2w.mt 87 ms 5o4 =2x 8h 8o 1 35 4f 1r 4d 3d 2xi 2ok f 14 eb puc 10u gk4 516 110f 1g 1g 1g 1g 1g 1g
1g 1g 1g 1g 1g 1g i 12 1m 1m 1m 1m =2x.2x 6lt =2x.2x.2x 6lu =2x.2y 8j =2x.3a 6lv =2x.3c 6m0 =2x.mq
708 =2x.mt h4 5cj 1 =2y s3 2t 5pt 17up 161l 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g =2y.mt g9 =2z 2kh0
1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g =2z.lw bd =30 1d o 1f 7u 16 d5 31 56 74 l a 20 1m 40 61 2yf 21b
1 2 25 s 4n d6 1p1 59 nmr hp7 1 4b z 4c iq 3j n lc8 jxc t n t n t 1g n t 1g n t n t n t n t n t n t
n t r 1m 1m 1m 1m 1j a a a a 3bk 115 3k 2nl =30.13 169 =30.18 2q6a =30.1a 77s =30.1e.1a 783
=30.1e.k4l a97 =30.1e.kco a17 =30.1e.m9l a5g =30.1f.1a 784 =30.1f.k4l a98 =30.1f.m9l a5h =30.1g.1a
785 =30.1g.k4l a99 =30.1g.m9l a5i =30.1h.1a 786 =30.1h.k4l a9a =30.1h.m9l a5j =30.1i.1a 787
=30.1i.k4l a9b =30.1i.m9l a5k =30.1j.1a 788 =30.1j.k4l a9c =30.1j.m9l a5l =30.1k.1a 789 =30.1k.k4l
a9d =30.1k.m9l a5m =30.1l.1a 78a =30.1l.k4l a9e =30.1l.m9l a5n =30.22 8i =30.27 tq =30.27.1a 781
=30.27.k4l a95 =30.27.kco a15 =30.27.m9l a5e =30.2e 6lf =30.2g 6lk =30.2y cp =30.30 ch tr 55y 97 5g
=30.30.1a 782 =30.30.30 6le =30.30.k4l a96 =30.30.kco a16 =30.30.m9l a5f =30.37 iy =30.38 6gm =30.3e
iz =30.53 8v 1 3uf =30.f1 ha =30.ln 1e0s 1 =30.mg h9 =30.ms h7 =30.mt bb 3 =30.mt.30.mt 1evt
=30.mt.30.mt.2b.mt 1evs =30.mw 8y =30.18j.17s.181 1e5v =30.18k.18k.18x.19s.33 1e5u =30.191 19v 1d04
1 =30.19w 19u 3 1czy 1 =30.k4l a8w =30.kco a0w =30.m9l a55 =32 12w 4 2je3 1g 1g 1g 1g 1g 1g 1g 1g 1g
1g 1g 1g =32.2y cs =32.mg hf =32.mh bi ex 2k9d 1m 1m 1m 1m =32.ms 5tc =33 qn 4 3f 93 2k 2u u 2h 3 k
w hd 74 3k 74 s 2s s 2s s u 1y s 5q 3k 99 z 5b 2ds 2 tf 297 p0e fvt 1 1 1 1 1 1 1 n0 1 1 1 2r yl 5a
3xa f 1101 1g 1g 2w 1g 1g 1g 1g 1g 1g 1g 1g 1k 4 1i 4 1i 4 1i 4 1i 4 4fc 1s w =33.2t 9f =33.33 6qm
q63 52 =33.le 1dr =33.m3 xv8 =33.mt hh e6 3a w2q ub 19 =33.mw 6w xmu =33.17w 1du9 3q =33.18l 1dua 3q
=33.18l.17w 1e37 =33.18l.18l 1e38 =33.18p 1dub 1 =33.19s 1dy1 =33.2ls.33 2n3 =33.370 368 =33.5qf hi
=34 qp 1c 27 65w 1tb 15m5 161l 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1l e 18 e 18 e 18 e 18 e =34.53
41j =34.lw bp =34.mt 5tp =35 10b 20 3 2jes 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g =35.lw io =36 tv 4xf
31b p1e 1 1l 1mlm 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g =36.13 wh =36.32 31 6j6 1cht df 10zn 1g 1g 1g
1g 1g 1g 1g 1g 1g 1g 1g 1g =36.32.me hd =36.32.ms 5tb =36.32.mw 6g5 =36.mg hp =36.mh ho =36.ms 5te
=36.mt gd g6 =37 cd ig w64 vt gix z9 41l 110r 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g =37.37.37 2rfg
=37.38 1dl2 =37.mg hu =37.ms 5tg =38 2kh9 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g =38.2u x2v =38.37 iu
=38.f1 x0p =38.gl iw =38.hv iv =38.lw bx =38.ms 5th =38.mt 9z =39 i3 8q c8 4nz rcz q7 4 hpg 3xe 1106
1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1k 1m 1m 1m 1m =39.2t 5t7 =39.33 xur =39.mt 5tq s2m =3a ql 54 9v
4lk us 50 49 r1k gj1 4og ca 110v 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1b 1m 1m 1m 1m =3a.2x 6lx
=3a.2x.2x 6ly =3a.2x.2x.2x 6lz =3b hb du 58 1w 4ow s4i l8n 4 1 11cx 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g
1g =3b.lj 1io5 =3b.me x29 =3b.w6.w7 vx =3c 5z oe 3cs 1o 6p 26j 1iq 1 77 163t 161l 1g 1g 1g 1g 1g 1g
1g 1g 1g 1g 1g 1g =3c.2x 6m2 =3c.2x.2x 6m3 =3c.lj 8c0 =3d gz 18 84 40 30 2ew 2hx ab fy ra5 glb 51f
1106 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g y 1m 1m 1m 1m =3d.lw c4 =3d.mt gf gy =3e 5r6 s4x lkh 110v
1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g 1g =3e.me f9 =3e.mg i8 =3e.ms 5ti =3e.mt c6 =3f 7sk 2c2o =3h 7sl
=3i kc 5pg 43 dl =3i.lj 8dm qc =3i.lk 6zs =3i.mb 93z =4j 6g4 =4p 794 =4u 79j =4w ka 666 qb r 1my
=4w.1v 6ir =4w.1y 6ix =4w.lk 6zo =4w.mq 6zg =52 94v =53 3zb jo 1tj 5 du 4s 298 ju nf8 hcm bg =53.1g
46n =53.1o 404 =53.1q 3zr 9 2vr =53.22 42g =53.24 43a =53.28 41i =53.2d 40n =53.2e 3zu =53.2q 41q
=53.2q.lj 41s =53.2s 41m =53.53.53 6wf 21l =53.g5 3zw =53.pf 432 =53.pg 3ym =53.11k 40p =53.3y9 3yk
=53.3yc 3yo =53.3yd 3yq =53.3ye 3ys =53.3yi 3yv =53.3yj 3yx =53.3zm 3zy =53.3zo 402 =53.3zt 406
=53.40f 40r =53.40g 40k 9 =53.40h 40v =53.40l 40x =53.40m 40z =53.417 41g =53.41a 41k =53.41c 41o
=53.421 42a =53.423 42c =53.424 42e =53.426 42i =53.428 42k =53.429 42m =53.42r 430 =53.42u 434
=53.42v 436 =53.42w 438 =53.42z 43c =53.43k 43t =53.43m 4w6 =53.43n 4w8 =53.43o 4wa =53.43p 4wc
=53.43r 43v =53.43s 43x =53.443 44c =53.445 44e =53.446 44g =53.447 44i =53.448 44k =53.44a 44m
=53.44b 44o =53.44t 452 =53.44v 454 =53.44w 456 =53.44x 458 =53.44y 45a =53.450 45c =53.451 45e
=53.45s 45z =53.45t 461 =53.45u 463 =53.45v 465 =53.45w 467 =53.45x 469 =53.45y 46b =53.46g 46p
=53.46h 46r =53.46i 46t =53.46j 46v =53.46l 46x =53.46m 46z =53.477 4we =53.47a 4wf =53.47b 4wg
=53.47c 4wh =53.47d 4wi =53.47f 4wj =53.47g 47i =53.47u 47v =53.487 488 =53.4vl 4vn =53.4vo 4vq
=53.4vs 4vt =53.4w0 4w2 =56 5si m6 =56.1b.6f4 11 18l 548 =56.1b.6f4.6f4 16x 55z =56.1b.6f4.6f4.6f4
16y 55z =66 s7 1eq5 =67 qa u 36o t6t 1nv2 1m 1m 1m 1m =6v 7tj =72 cf ft =8o qi 1i 22 4wh 32i p41
1n2t j 13 j 13 j 13 j 13 j =8o.mh wr =8o.mt wv =at uk x1v =at.2x uj =au sd 5ty py0 itk =b2 6pv 27r
nnb =b3 yg =b4 100 2wr 2m4 18u2 l64 jjo =bs rt 4zf r35 =bt pv 5ul 5t 27s 2c1d 1m 1m 1m 1m =bv 3wf
=c1 4dq 6 25v =d9 gp hs =d9.33 5qs =d9.33.mt xtu =d9.33.mw xtt =d9.ke gq =dy zu =f1 ia gf 2du 5i2
o7y =fr 12t 2jw0 =g2 xvi =g5 pn 3k gd 40 2m1 4xy nn2 dl i4f f7 l1p kfp 1m 1m 1m 1m =g5.53 3zx =g5.me
xx =gb 5u8 =gk or 51x vo 18sn =gk.2t xuq =gk.mw xtr =gs tz 4wh =gs.me wp =gu 1feq =gy zx 2y6 txx =hc
12y 2i1 =hj 1fen =hk qu f 33 7zb 2c6k 8 1e 8 1e 8 1e 8 1e 8 =hq.ms 5tf =hr 6jt =hs xv5 1d =hv 6qz
r36 =hv.hv 6r0 =hv.hv.hv 6r1 =hv.hv.hv.hv 8b0 =i2.mt 5tr =i4 5rb 19rl =i5 u4 4wh s56 =i5.me y6 =ig
6u1 og s7 nt nwv imz =ih tu 34a =ii x3x ia5 =ik u5 x1q =ik.me y0 2 =ik.mh wz =in 8up p25 hhx =ip wy5
=jl kk =jr k8 wbq =jt 4v 68f 11y 16t1 1 1 1 bb =jt.2q ui =jt.2q.2x wup =jz ol =kq l7 wez =kr x04 =kz
9he =lc 1ub =ld 13w 1 3f 1i 6x el =le lt ne b7 44i ra8 =lf n6 lt =lg lh no b6 44n ra7 =li lo 2q kq 2
vmq =li.lj ls rc ex 3k 74 3k 73 3l 3k 1g3i =lj ns gx 1 7 1 2 88 2c 1 4s 71 o 74 3k 97 =lk 1kj 6w =ll
9ik =lm o6 g9 4j 3x wz jv 3k a1 1hs d 4d3 j4 18py =lm.2sy 2sz =lm.2wi 2wj =ln 18r it =lq 5p6 =lu 193
=lv lx lg 1i is =lw 199 =ly 5pp =mb 14k h 47 i9 27 3k 3k 3k 3k 3hd 1avx 1hs l5 =mc 1ri 3xs =md 307
6ie =me m9 6 i =mg ma z 4mq =mh 192 4g6 =mj 5p1 =ml 5p5 =mm 5p4 =mp m8 182 =mr nb =mt mu =mw mv =nk
nr 141 7 =nm 1s0 =no 1rt =np 1ru =o3 92u =o4 92v =o8 92l =of 92n =pf sz 332 6s 2hl 286 1rpf kgz 1m
1m 1m 1m =pf.13 wg =pf.53 433 =pf.mt wi =pg 3yb 2rn q5 1cj 62 163p u lfb kgh 1m 1m 1m 1m 67j =pg.53
3yn =pg.mq 6zd =pg.3z4 3zg =pq 2kz9 1m 1m 1m 1m =ps tb 5r4 5s 235 o57 1o0s 1m 1m 1m 1m =py tg 8f 2jx
xc 4ai 16a1 15vu 1m 1m 1m 1m =q0 vk 3mw 4ba 169z f0 15gu 1m 1m 1m 1m =q1 4dr 6 1apt 15vu 1m 1m 1m 1m
=qe 2kzr 1m 1m 1m 1m =qj 8t2 16px 15gx 1m 1m 1m 1m =qk 51 2kuw 1m 1m 1m 1m =qm 2kzz 1m 1m 1m 1m =qo
ra 2x 4x5 t0 2efp g 16 g 16 g 16 g 16 g =qq rf 2k8o 1m 1m 1m 1m =qv 8tp p0m 2 1n5v 1m 1m 1m 1m =qw
vl 1eo8 15gg 1m 1m 1m 1m =qx 705 1to o0s a2 1nvn 1m 1m 1m 1m =qx.mq 709 =rb 8v8 =rc 1f3h 2t =rh 2l6z
=rw 8v0 =sr 1fil =t2.mh wm =t4 om w8b ih0 14o6 =t4.me.lc wa =tk 8u4 =tm.30 wuo =tp 6iw =ty.mh wn
=u0.me.li wb =u3 5rf =u3.me xy =ug 8u5 =ux xuo =v4 3wn fc 2fqr =v4.53 4x9 =v4.w6.w7 vw =xi y3 =xj y4
=xo.mg xq =xv 1fi4 =zi 2k1u =11k 3mo dq 2qj 49 ppv 1nio =11k.13 414 =11k.53 40q =11w 6gt =121 jj k
=12d.136 13b =12p 3o4 =12s.12d 1dlg =12s.12j 1dlh =12s.12l 1dlj =12s.12u 1dlf =132.12u 1dli =13q 14d
=13s 14e =13t 148 =13u 144 =15c 6k5 171o =15c.15o 1dn3 =15d 6k6 =15e 6k7 =15f 6k8 171m =15g 1dlv
=15n 1dlw =15o 1dlx =15p 1dly =15u 1dls =160 1dlz =162 1dm0 =170 19o 7uu =17f 94l =17j 94e =17l 1e9s
=17l.nc 1dp =17r.18z 1e9t 1 =17s 1ea7 1 1 1 1ban w 1s w w =17s.33 1dwg 1u =17s.17w 1ds5 47 =17s.17x
1ds6 47 =17s.17x.18p 1e4i =17s.17y 1ds7 1w 2b 1g =17s.17y.18p 1e3i =17s.181 1duy =17s.182 1duz
=17s.18l 1ds8 2s 1f 1u =17s.18m 1dv1 =17s.18p 1ds9 1 2s 1 =17s.190 1pd =17s.1cr 1g1 =17s.1cy 1py
=17t 1c3 5nm 17am 1 =17u 1ead 1 1 1 1bb1 w 1s w w =17u.33 1dwl 1r =17u.17w 1dsb 46 =17u.17w.18l 1e1c
=17u.17w.18p 1e3j 1 =17u.17x 1dsc 46 =17u.17x.17w 1e1d 1 =17u.17x.18l 1e1f =17u.17y 1dsd 46
=17u.17y.18l 1e1g =17u.17y.18p 1e3l 1 =17u.181 1dv4 =17u.182 1dv5 =17u.18l 1dse 2s 1e 1r
=17u.18l.17w 1e1h =17u.18l.17x 1e1i =17u.18l.17y 1e1j =17u.18l.18p 1e3n 1 =17u.18m 1dv7 =17u.18p
1dsf 1 2s 1 =17w 1eal 1 1 1 1baa w w w w w =17w.17x 1dsl 42 =17w.17x.18p 1e3q o
=17w.18k.w.17w.18k.30.18k.33 1e63 =17w.18l 1dsm 42 =17w.18l.17x 1e1k 1 =17w.18l.18p 1e3p 2 =17w.18p
1dz5 1 r 1 =17x 1eap 1 1 1 1bab w w w w w =17x.17w 1dsn 42 =17x.17w.18p 1e4f =17x.18l 1dso 42
=17x.18l.18p 1e1m 1 =17x.18p 1dz3 1 r 1 =17x.190 1a9 6p =17x.1cr 1ad =17y 1eat 1 1 1 1ban w w w w w
=17y.17w 1dsp 42 =17y.17x 1dsq =17y.18l 1dsr 41 =17y.18p 1dz7 1 r 1 =17z 1eax 1 tz 1ag2 3k w =17z.le
1da =17z.mc.mb 1pq =17z.179 1ag 1ce8 1 =17z.1cr 1am 1ce0 1 =180 1eaz 1 1bak 3k w =180.19s 1duj =181
1eb1 1 1bad 3k w =181.le 1db =181.li 1aq =181.li.lj 1q1 =181.179 1ap 1ce3 1 =181.183.18o.18k 1e5y
=181.18p.30.18k 1e64 =181.190 1gs =181.19s 1duk =181.1cr 1aw 1cdu 1 =182 1eb3 1 1b9y 3k w =182.le
1pu =183 1eb5 1 1 1 1ba2 w w w w w =183.33 1dyg 21 =183.le 1ha =183.17w 1dss 41 3r =183.17w.17x 1e1p
=183.17w.18p 1e1q =183.17x 1dst 41 3r =183.17x.17w 1e1o =183.17y 1dsu 41 3r =183.17y.18p 1e3s u
=183.181 1dzi s =183.18l 1dsv 41 1j =183.18l.17w 1e1t =183.18l.17x 1e1r 1 =183.18l.18l 1e1u 1
=183.18p 1dyz 1 r 1 =183.1cr 184 1d35 1 1 1 1ba4 w w w w w =183.1cr.33 1dyi 20 =183.1cr.17w 1dzd s 8
a =183.1cr.17w.18p 1e21 =183.1cr.17x 1dze s 8 a =183.1cr.17x.18l 1e1z 1 =183.1cr.17x.18p 1e3u
=183.1cr.17y 1dzf s 8 a =183.1cr.181 1dzh s =183.1cr.18l 1dyh z s 8 =183.1cr.18l.17y 1e22 1
=183.1cr.18l.18l 1e24 1 =183.1cr.18p 1dz1 1 r 1 =185 1ebd 1 1 1 ty 1afz w w w w w =185.mc.mb 1pr
=185.17x 1dsw 41 =185.17x.17x 1e1w 1 =185.17x.18p 1e3t =185.17y 1dwy =185.181 1dzj s
=185.18k.189.18l 1e5x =185.18k.18p 1e5s 9
=185.18k.18p.w.30.18k.18k.33.w.189.18k.18p.33.w.18o.183.18k.18l 1e62 =185.18l 1dsx 42 =185.18l.18l
1e1y 2n =185.18p 1dz9 1 r 1 =185.1cr 1b2 =186 1ebh 1 1 1 1ba1 w w w w w =186.17w 1dsy 42 =186.17x
1dsz 42 =186.17x.18p 1e26 1p =186.17y 1dt0 42 =186.17y.18l 1e27 1 =186.181 1dzk s =186.18l 1dt1 42
=186.18p 1dzb 1 r 1 =187 1ebl 1 1 1 tg 1ag0 2o w w =187.17x 1dt2 42 =187.18l 1dt3 7g 7 =187.18l.17x
1e29 1 =187.18l.18l 1e2b =187.18l.18p 1e2c =187.18p 1dyt 1 r 1 =187.1cr 1b3 =188 1ebp 1 1 1 1b9u 2o
w w =188.18l 1dt4 41 3m =189 173 1d4q 1 1 1 1b9f w w w w w =189.17w 1dt5 41 =189.17w.18l 1e2d 27
=189.18k.18p.33 1e5z =189.18l 1dt6 41 =189.18l.18l 1e2e 1 =189.18l.18p 1e2g 1q =189.18p 1dyv 1 r 1
=18a 1ebx 1 1 1 1b9n w w w w w =18a.17w 1dt7 41 =18a.18l 1dt8 41 =18a.18l.18l 1e2h =18a.18l.18p 1e2i
1 =18a.18p 1dyx 1 r 1 =18h 1bb 1d0q 1 1 1 1b98 w 1s w w =18h.17w 1dt9 41 =18h.17x 1dta 41 =18h.17y
1dtb 41 =18h.17y.18l 1e2k 1 =18h.18l 1dtc 41 =18h.18l.18p 1e4h =18h.18p 1dtd 1 22 1 =18i 1ec5 1 1 1
1b96 w w w w w =18i.17x 1dtf 3z =18i.18k.18p 1e5t =18i.18l 1dtg 3z =18i.18l.17x 1e2m 1i =18i.18l.18l
1e2n =18i.18l.18p 1e42 =18i.18p 1dth 1 20 1 =18j 1bd 1 1cdg 1 1 1 nc 1 1 1 1b8u w 1s =18j.30 1dtj 21
=18j.17w 1dtk 3w =18j.17x 1dtl 3w =18j.17y 1dtm 3w =18j.18k 1dtn 1y 1y 10 =18j.18l 1dto 1y 1y 10
=18j.18l.18l 1e4b 8 =18j.18l.18p 1e47 =18j.18p 1dtp 1 1x 1 =18j.1cr 1bh 52 1ca8 1 1 1 =18k 1ecd 1 1
1 1b8r w w 1s w =18k.30 1ed7 1 =18k.30.191 1ed5 1 =18k.30.19w 1ed3 1 =18k.33 1dxp =18k.li 1bp
=18k.17r.18z 1ed1 1 =18k.17w 1dtr 3u =18k.17w.17w 1e2r 1 =18k.17w.18l 1e4a 2 =18k.17w.18p 1e3w
=18k.17x 1dts 3u =18k.17x.18l 1e2o 1h =18k.17x.18p 1e2p 1 =18k.17y 1dtt 3u =18k.17y.18l 1e2t 1
=18k.18l 1dtu 1v 1z x =18k.18l.17x 1e2v 1 =18k.18l.18p 1e3x =18k.18p 1dtv 1 1u 1 =18k.1cr 1br =18l
1ech 1 1 1 1b8o w 1s w w =18l.30 1dvs =18l.nc 1dq =18l.17w 1dtx 3t =18l.17w.17x 1e30 =18l.17w.17y
1e36 =18l.17w.18l 1e31 =18l.17w.18p 1e4g =18l.17x 1dty 3t =18l.17x.17w 1e2x =18l.17x.18l 1e2y
=18l.17x.18l.17z 1e5w =18l.17x.18p 1e2z =18l.17y 1dtz 3t =18l.17y.17w 1e32 =18l.17y.18l 1e33
=18l.17y.18p 1e49 =18l.18l 1du0 1t 20 =18l.18l.18p 1e41 =18l.18p 1du1 1 =18l.1cr 1pj =18m 1ecl 1 1 1
1b8l w w w w w =18m.33 1dxy p =18m.li 1gp =18m.179 1go =18m.17w.17x 1e48 5 =18m.17w.18l 1e3b 1
=18m.17w.18p 1e3d 1a =18m.17x 1du4 3r =18m.17x.18l 1e39 =18m.17x.18p 1e3a t =18m.17y 1du5 3r
=18m.181 1dvu =18m.182 1dvv =18m.18l 1du6 1q 21 p =18m.18l.18p 1e3e 1 =18m.18m 1dvx =18m.18p 1du7 1
1q 1 =18o 1pt 1cn0 1 s6 1ag1 3k w =18o.le 1c9 1cex 1 =18o.li 1c6 1cer 1 =18o.lv 1c7 1ceo 1
=18o.lv.19w 19z 1ch2 =18o.183.18k.18l 1e60 =18o.19s 1c8 1cer 1 =18o.19w 19y 1czz 1 =18o.1cr 1cb 1cer
1 =18p 18q 10 24 i 6 dn 1bz5 1 f 1 1l 1 j 1 1 1 kw 1 1 1 1 1 1b85 j 1 c w k c j d w =18p.33 1dy6 j
=18p.le 18d =18p.li 1ce 3s =18p.li.lj 1q2 =18p.179 1a1 1u 1cbv 1 1 1 1j 1 1 1 =18p.17w 1dud 3p
=18p.17w.18p 1e3z =18p.17x 1due 3p =18p.17x.18p 1e3y =18p.17y 1duf 3p =18p.181 1dw1 =18p.182 1dw2
=18p.18l 1dug 1n 22 j =18p.18l.18l 1e3g 1 =18p.18l.18p 1e40 =18p.18m 1dw4 =18p.18p 1duh 1 1n 1
=18p.190 1pk =18p.19s 1dul 1f =18p.19w 1a0 1d01 1 1 1 =18p.19w.30 1dre 1 =18p.19w.33 1drg 1 4u 1x
=18p.19w.17w 1ds0 47 =18p.19w.17x 1ds1 47 =18p.19w.17y 1dw9 =18p.19w.181 1dus =18p.19w.182 1dut
=18p.19w.18l 1ds2 2s 1g 1x =18p.19w.18m 1duv =18p.19w.18o 1dri 1 =18p.19w.18o.li 1drm 1
=18p.19w.18o.lv 1drk 1 =18p.19w.18o.19s 1dro 1 =18p.19w.18p 1drt 1 1 8 1 2s 1 =18p.19w.1a3 1drq 1 1
=18p.1cr 17v k 1r 1r k 1cat 1 1 1 n4 1 1 1 1bay w 1s w w =18p.1cr.33 1dye =18p.1cr.17w 1dsh
=18p.1cr.181 1dva =18p.1cr.182 1dvb =18p.1cr.18l 1dsi 2u 1a 1r =18p.1cr.18m 1dvd =18p.1cr.18p 1dsj 1
2u 1 =18p.1cr.1cy 1pz =18s 1r9 3 9 =18t 1rm =18w lz lf =191 19b =19e 1de w65 =19f 1df 2n6e =19g 1dg
=19i 1di =19l 1dl ha 1hml =19s lp =19t 1dn4 1 =1a2 1dni 1 1 1 =1a3 1cg 1caq 1 1 1 3z 1 1 1 =1a7 1dnm
1 1 1 =1a8 1dne 1 1 1 =1ab 1do6 1 1 1 =1ac 1do2 1 1 1 =1ae 1doa 1 1 1 =1af 1doe 1 1 1 =1ai.179 1aj
=1ak 1dok 1 =1al 1doi 1 =1av.179 1gx =1b5 19r gc 1 2nvm 1 1s v =1b5.1cr 1b8 4 1cci 1 1 1 =1b6.1cr
1pg =1ba 1dny 1 1 1 =1bg 1gi =1bj 1ps 1bz6 1 1 1 =1bj.1cr 1bo =1bl 1dp6 1 1 1 =1bn 1dp2 1 1 1 =1c5
1dr4 1 =1ci.190 1dps 1 =1cl.190 1dpg 1 =1cr 59w 17r =1fg 1fm =1g4 1gn 8y =1s5.1tq 1s6 =1s5.1tq.1ty
1si =1s5.1tq.1tz 1sj =1s5.1tq.1u0 1sk =1s5.1ty 1s4 =1s5.1u1 1sh =1sf.1tx 1sd =1sf.1ty 1se =1sf.1tz
1sg =1tc.1u5.1s7 1s8 =1tm 1i2z =1tp 24d =1tt 24h =1tu 24i =1ty 217 =1u5 219 3k =1us x80 =1us.1us 1ut
=1uw 25k =1ux 25l =1uy 25m =1v2 25q =1v4 25s 5h8 1a8f 7g =1v5 k9 22d =1vn 1z7 e8 3k 3k 3k j9 1fgp
=1vp.1xa 1vq =1vv.1xf 1y8 1 =1w8 1imq =1wa 1ims =1wc 1imu =1we 1imw =1wf 1imx =1wh 1imz =1wj 1ine
=1wk 1in2 =1wl 1in3 =1wm 1in4 =1wn 1in5 =1wo 1in6 =1wq 1in7 =1ws 1ind =1wu 1inb =1wv 1inc =1ww 1inf
=1wy 1in1 =1x3 1inh =1x4 1ini =1x9 1io4 =1xa 1ink =1xb 1inl =1xj 1int =1xp 1io2 =1xz 1inx =1yf 1ioh
=1yg 1ioi =1yk 1iom =1z9.20u 1za =1z9.214 1zk =1z9.218 1zo =22a.20v 1zb =22a.20w 1zc =22a.213 1zj
=22b.20x 1zd =22b.20y 1ze =22t.24e 22u =22t.24e.24l 235 =22t.24e.24n 237 =22t.24e.24o 238 =22t.24l
231 =22t.24n 233 =22t.24o 234 =26d.27y 26e =29x 2cu =2a0 2b4 e =2a0.2bl 2cr =2a1 2co 81 =2a1.2b7 2a2
=2a1.2mv 2kq =2a6 2ct =2a6.2b9 2d3 =2a8 2ak ao =2ad 2cn =2ai 2cq =2ai.2bl 2cs =2ai.2bm 2cy =2an.2bj
2m2 =2ar 2lf =2aw.2bk 2d6 =2ax 2bs =2b2.2bk 2d0 =2b3 2cw =2b7 2c7 =2b8 2lw =2ba 2ly =2bb 2d4 =2bj
2m7 1 =2cz 2d1 =2dh 2h1 =2di 2h2 =2dj 2h3 =2dn.2f2 2g0 =2do.2f2 2g1 =2du 2he =2du.2fg 2dw 3k
=2du.2fp 2dv 3k =2e4 2ho =2e6 2hq =2e9.mb 2ea =2eb 2hv =2ef.14s 2ed =2ek.mb 2el =2en 2i7 =2eo.14s
2e8 =2ep 2i9 =2eq 2ia =2et.mb 2ev =2et.2f2 2ex =2et.2f5 2em =2f5.2f2 2f6 =2f7.2f2 2f8 =2g7 2jr =2g8
2js =2gf 2jz =2h8.2im 2jl =2kn.2mv 2ko =2ku.2me 2kw =2ky.2m6 2kz =2ky.2mv 2l0 =2la 2n5 =2li.2ml.2ls
2nf =2lk.2m9 2ks d 2o =2lk.2ml 2nj c =2lk.2ml.2lk 2ng =2lk.2ml.2lq 2my =2ls 2lt =2ls.2ml 2ne i
=2lx.2ml.2ls 2ni =2m1.2ml.2lq 2nq =2m9 2ma 1 =2me.2me 2mg =2oy 2qy =2pb 2qz =2qw.2q7 2qx =2qw.2qb
2r3 =2rm 2rn =2ro 2s4 1 =2rq 2sh =2rs 2vc =2ru 2rv =2ry 2rz =2s1 2s7 =2sa 2vu =2sb 2vv =2sd 2vx =2se
2vy =2sf 2vz =2sg 2sm =2si 2vh =2sv 4pg =2sy 2th =2t0 4on =2t1 4oo =2t2 4op =2t3 4oq =2t4 2wo =2t5
2wp =2tc.2tc 2td =2tk 2x4 1s3 =2tl 2x5 =2tm 2x6 =2tn 2x7 =2tr 4pl =2u2 4ph =2u3 4pm =2wb.2vt 2xo
=2wb.2w1 2xp =2yz 2z0 =2z1.2z1 2z2 =2ze.2ze 2zf =2ze.2zh 2zj =2zh.2ze 34e =2zh.2zh 2zi
=31c.31w.32a.2z8 2yr =31c.31w.32a.327 2yq =31e 31m =31k.324.326 2yo =33m.31t.328 31z =33n.31t.328
321 =35u.370 35s =35u.37i 39d =35v.37i 38w =36d.370 36n =36d.370.37i 38v =36d.37i 38m =36m.37g 36x
=36m.37g.375.370.37e 36y =37l 38l =37u.37u 37v =399.37i 39a =39f.lm 3a6 =3cw 3hk 689 =3cw.3cw 3cx 4o
689 =3cw.3cy 3ju =3cw.3cz 3fe =3cw.3d1 3ib =3cw.3d3 3jv =3cw.3d5 3hm 689 =3cw.3d5.3cw 3ic =3cw.3da
3jw =3cw.3db 3jx =3cw.3de 3jy =3cy 3hn 689 =3cy.3cw 3df 4y =3cy.3cy 3dg 6j 67a =3cy.3cz 3dh 4x 68w
=3cy.3d1 16mj =3cy.3d3 3di =3cy.3d5 3ff 30 68w =3cy.3d8 3fg 28 689 =3cy.3da 16mk =3cy.3dc 3ih
=3cy.3de 3fh 28 689 =3cy.3eo 3ig 68w =3cz 3hq 689 =3cz.3cw 3dj 4z =3cz.3cz 3d0 6d0 wwl =3cz.3cz.3d3
16mm =3cz.3d1 3fi 31 =3cz.3d2 xgg =3cz.3d3 xgh 966 =3cz.3d5 xgi 966 =3cz.3d5.3cw 16mp =3cz.3d8 xgj
967 =3cz.3da 16mr =3cz.3dc 16ms =3d1 3hr 68a =3d1.3cw 3hs 68a nqi =3d1.3cw.3cw xgl 968 =3d1.3cw.3d5
3ik 68t =3d1.3cw.3de 16mu =3d1.3cy 3dk 51 =3d1.3cz 3im 68s np8 =3d1.3cz.3cz xgn =3d1.3cz.3de 3in
=3d1.3d1 3dl 53 =3d1.3d1.3db 16mv =3d1.3d2 3ht 68a nql =3d1.3d2.3cw 3ip =3d1.3d2.3d5 3iq
=3d1.3d2.3de 16mw =3d1.3d3 3hu 68a nql =3d1.3d3.3cz 16mx =3d1.3d3.3d3 xgq =3d1.3d3.3d5 3ir 68o
=3d1.3d3.3d7 3it txy =3d1.3d3.3dd 16my =3d1.3d3.3de 3is =3d1.3d5 3hv 68a nqn =3d1.3d5.3d5 3iu
=3d1.3d7 3dn 139e =3d1.3d8 xgt =3d1.3db 3iw txy =3d1.3dc 3hw 68a =3d1.3dd 3hx 68a =3d1.3de 3dm x 3f
68a wxe =3d1.3eo 3iv 68l =3d1.3f0 16mz =3d1.3fd 3ix 68k =3d1.3fd.3de 16n0 =3d2 3hz 68a =3d2.3cw 3iy
txx =3d2.3cy 16n2 =3d2.3cy.3cy 16n3 =3d2.3cz xgw =3d2.3d1 3iz =3d2.3d2 16n4 =3d2.3d3 3do 5c 68i
=3d2.3d3.3d5 16n5 =3d2.3d5 3j1 68i npe =3d2.3d5.3d5 3j2 =3d2.3d7 3dp 5h 68f =3d2.3d8 16n6 =3d2.3da
3j4 =3d2.3de 3j5 =3d2.3eo 3j3 68h =3d3 3i0 68a =3d3.3cw 3dq 6dw =3d3.3cy 3dr =3d3.3cz 3ds 6dv wvk
=3d3.3d1 3j7 =3d3.3d1.3dd 16n8 =3d3.3d2 16n9 =3d3.3d3 3d4 6d7 wwz =3d3.3d3.3d7 3e4 6dp =3d3.3d5 3dt
48 68b =3d3.3d5.3cw 3du 6du =3d3.3d5.3cz 3dv 6du wvm =3d3.3d5.3d3 3dw =3d3.3d5.3d5 3dx =3d3.3d5.3d8
3dy =3d3.3d5.3dc xgy =3d3.3d7 3e3 57 68i =3d3.3d8 3dz 6dr wvm =3d3.3da 3e0 139d =3d3.3db xgz
=3d3.3dc 3e1 6dq =3d3.3dd 3e2 56 =3d3.3de 3j9 txr =3d5 3i2 68b =3d5.3cw 3e5 56 68j =3d5.3cy 3e6 6dp
=3d5.3cz 3e7 55 68k =3d5.3d1 3e8 55 =3d5.3d2 3e9 1395 =3d5.3d3 3ea 54 68j =3d5.3d3.3cw 3eb
=3d5.3d3.3d7 16nf =3d5.3d5 3d6 4x 68b =3d5.3d5.3cw 16ng =3d5.3d5.3cz 16nh =3d5.3d5.3d3 xh1
=3d5.3d5.3d5 3ec =3d5.3d7 3ed =3d5.3d8 3ee 6dk wvl =3d5.3da 3ef 1395 =3d5.3db 3eg =3d5.3dc 3eh 1394
=3d5.3dd 3ei =3d5.3eo 16ni =3d7 3i4 68b =3d7.3cw 3ep 4r =3d7.3cw.3cw 3jh =3d7.3cz 3eq =3d7.3d1 xh2
=3d7.3d2 3er =3d7.3d3 3es =3d7.3d5 3et 4s 68h =3d7.3d7 3ev 4n 68i =3d7.3d8 3ew =3d7.3da 3ex =3d7.3db
3jj =3d7.3dc 3ey =3d7.3dd 3ez =3d7.3de xh3 =3d7.3eo 3eu 4s 68h =3d8 3i5 68b =3d8.3d3 16nr
=3d8.3d3.3d3 16ns =3d8.3d7 3f1 =3d8.3d8 3d9 6d8 wxc =3d8.3d8.3de xh4 =3da 3i6 68c =3da.3db 3f6
=3da.3de 3f7 =3db 3i7 68c =3dc 3i8 68c =3dc.3dc xh5 =3dd 3i9 68c =3dd.3d3 3fa 4d =3dd.3d5 16nu
=3dd.3d7 3fb 4d 68g =3dd.3dc 16nv =3dd.3de xh6 =3de 3ia 68c =3de.3cy 3jp =3de.3d1 3jq =3de.3d2 3jr
=3de.3d3 3js =3de.3d5 xh7 =3de.3de 3fc 6ct =3ek.3ek 3el =3em.3em 3en =3eo 3jf 68k =3eo.3d3 16nn
=3eo.3d3.3d7 16no =3f0 3jk 68h =3f0.3d2 16np =3f0.3de 16nq =3f2.3f2 3f3 =3f4.3f4 3f5 =3fd 3jt 68d
=3fd.3fd xh8 =3fk 9r8 =3fl 9qn =3fl.3ft 3g6 =3fl.3fy 3g7 =3fl.9oc 3hf =3fl.ffs 3fm 6b2 =3fn 9qp
=3fn.3ft 3g8 =3fn.3fx 3g9 =3fn.3fy 3hg =3fn.ffs 3fo 6b2 =3fp 9qr =3fp.3ft 3ga =3fp.3fy 3gb =3fp.9oc
3gc =3fp.ffs 3fq 6b2 =3fr 9qt =3fr.3fn 3hh =3fr.3ft 3gd =3fr.3fy 3ge =3fr.ffs 3fs 6b2 =3ft 9qv
=3ft.3fl 3fu 6b2 =3ft.3fl.ffs 3fv 6b2 =3ft.3fn 3hi =3ft.3fn.ffs 3hj =3ft.3fp 3gf =3ft.3fp.ffs 3gg
=3ft.3fr 16ls =3ft.3fr.ffs 3gh =3ft.3ft 3gi =3ft.3ft.ffs 16lt =3ft.3fy 3gj =3ft.ffs 3fw 6b2 =3fx 9qz
=3fx.3fl 16lu =3fx.3fl.ffs 16lv =3fx.3fn 3gk 2 6bl =3fx.3fn.ffs 3gl 6bn =3fx.3fp 16lw =3fx.3ft 3gn
=3fx.ffs 3go 6bl =3fy 9r0 =3fy.3fl 3gp =3fy.3fl.ffs 3gq =3fy.3fp 3fz 6b2 =3fy.3fp.9oc 3gr
=3fy.3fp.ffs 3g0 6b2 =3fy.3fr 16lx =3fy.3fr.ffs 3gs =3fy.3fy 3gt =3fy.ffs 3g1 6b2 =3fy.ffs.ffs 16ly
=3g2 9r4 =3g2.3fl 3gu =3g2.3fl.ffs 16lz =3g2.3fp 3gv =3g2.3fp.ffs 3gw =3g2.3fr 3gx 6bd =3g2.3fr.ffs
3gy 6bd =3g2.3ft 16m0 =3g2.3fy 3gz =3g2.ffs 3h0 6bc =3ha 9sd =3ha.3fl 16md =3ha.3fp 3hb =3ha.3fp.ffs
16me =3ha.3fy 3hc =3ha.3ha 3he =3ha.ffs 3hd 6b1 =3k6 11g =3mp 11o =3ou 117 =3s3 11m =3y9.53 3yl
=3y9.3z4 3zf =3yc.53 3yp =3yd.53 3yr =3yd.3z4 3zh =3ye.53 3yt =3yi.53 3yw =3yi.3z4 3zi =3yj.53 3yy
=3z2.4wv 4wt =3z5 441 =3zd 474 =3zm.53 3zz =3zo.53 403 =3zp 6zt =3zt.53 407 =40f.53 40s =40g 6tf 2as
=40g.13 415 =40g.1b 7ux =40g.53 40u =40g.40l 8gn =40h.53 40w =40l 6te 2as =40l.13 416 =40l.53 40y
=40m.53 410 =417.13 41x =417.53 41h =41a.53 41l =41c.53 41p =421 4cj =421.53 42b =423.53 42d =424.53
42f =426.53 42j =428 4ci =428.53 42l =429.53 42n =42r.53 431 =42u.53 435 =42v.53 437 =42w.53 439
=42z.53 43d =43k.53 43u =43m.53 4w7 =43n.53 4w9 =43o.53 4wb =43p.53 4wd =43r.53 43w =43s.53 43y =443
4ck =443.53 44d =445.53 44f =446.53 44h =447.53 44j =448.53 44l =44a 4cn =44a.53 44n =44b.53 44p
=44t.53 453 =44v.53 455 =44w.53 457 =44x.53 459 =44y.53 45b =450.53 45d =451.53 45f =45n.1o 45o
=45n.2q 45q =45n.40l 45p =45n.428 45r =45s.53 460 =45t.53 462 =45u.53 464 =45v.53 466 =45w.53 468
=45x.53 46a =45y.53 46c =46g.53 46q =46h.53 46s =46i.53 46u =46j.53 46w =46l.53 46y =46m.53 470 =477
4de =477.53 4ww =47a 4df =47e 4dg =47g.53 47j =47k.28 48v =47k.2q 48z =47k.2q.lj 490 =47k.2s 48x
=47k.417 4fj =47k.418 48u =47k.41a 48w =47k.41c 48y =47k.41v 491 =47u.53 47w =47y.53 4wz =486.53 4x0
=487.53 489 =48b.53 4x1 =492.53 4x4 =49h.22 49d =49h.421 4fk =49h.422 49a =49h.423 49b =49h.424 49c
=49h.426 49e =49h.428 49f =49h.429 49g =49i.22 4fn =49i.423 4fl =49i.424 4fm =49i.426 4fo =49i.428
4fp =49i.429 4fq =49j.53 4x6 =49z.53 4fr =4a0.53 4fs =4a1.53 4ft =4a2.53 4fu =4a3.53 4fv =4a4.53 4fw
=4a5.53 4fx =4b6 8ff =4b9 8fe =4bl wl3 =4c4.53 4xc =4d7.53 4xe =4ee 5vf =4f4 wkt =4hl wxc =4ho 4ip
=4hp 4hu 2il =4i3 2k3j =4i7 6mp =4i8 6nz =4i8.4ii 86b =4i8.6o2 86m =4ii 6ny 1nn =4ik 6v8 lf 3 48
17hu 4df 17z1 =4ik.mq 6ze =4im 6vc 1g5 =4iu 1fio =4iw 6mt =4j3 8yr =4o2 4o3 =4s5 4t1 =4t8 4uu =4wk
5ve =4wm 5ry =4wv.3z2 4ws =4xf kh =4xg j7 =4xh ki 4c9 =526 53k =52p 53l =56t 58g g =59k.59k 59l
=59m.59k 59n =5cd 5ea =5ch 5eb =5d4 5eg =5e8 5ek =5em.5em 5en =5kr.5kr 5ks =5mm.5mm 5mn =5q8 xve
=5qd xv4 =5qf xvg =5qi xvf =5qm on 5d 1el1 =5qw 5rd s5l =5qx un =5qz qs 3i x0w 1n4z 1m 1m 1m 1m
=5qz.mh x9 =5ro 5tk =5sb 5un =5sd 5uq =5wf 92g =61r qc ca 361 4w2 2bv0 1m 1m 1m 1m =6f5.6f4 73c =6go
9hu 10 =6i1 wvj =6jb 79h =6k2 4ad sa1 =6kk 2k2j =6n2 8oc =6n3 8od =6n4 8oe =6n5 8of =6nm 6np
=6o3.4ii 86n =6o3.6o2 86d =6pu 2l0b 1m 1m 1m 1m 3d5 =6pu.mt 6o 2od9 =6px 6ww =6pz 1jfs 11jt 1m 1m 1m
1m =6pz.lk 6zm =6pz.ms 6zv =6q6 7ew o =6q8 8cf =6qo 2ojs =6qv 6v4 =6r2.6r2 6r3 =6r2.6r2.6r2 6r4 =6r8
94b =6r9 94a =6rb 94c =6rs 1i3i =6rz 7ke 2jv4 =6sh 6sj =6tp 8ar =6tq 8as =6tr 2k3c =6ts 2k3d =6tv
8at =6tw 8au =6tz 8aq =6u3 6zj =6u8 2rg1 =6u9 2rf9 =6uq 7gh =6ur 7g7 =6va.lk 6zn =6x3 1e7o =6xe 7hc
=6xl 8cd =6xw 6xx =6yj 893 =6ym 7gu s0 =6yq 891 =6yx 88g =6yz 72b =6z2 72a =6z9 729 =6zx 72e =70o
7js =730 1e7p =731 1e7q =732 1e7r =733 1e7s =734 1e7t =735 1e7u =739 7g1 =73v 73w =79a 7a3 =7b6 7b7
16we 8b =7bg 7bj =7bw 7c3 =7f0 7f4 =7fa 7fb =7fc 7fh =7fl 7io =7fu 1ejx =7g6 7g8 2 =7jb 8vd =7jd
2rd6 =7jx 2qky 7 =7jy 73y 2jh6 =7sc 7vs 1ls 1z b0 2pl9 =7sd 7vt 1ls =7sw 76o =7sx 76p =7sy 76q =7sz
76r =7t0 76s =7t1 76t =7t2 76u =7t3 76v =7t4 76w =7t5 76x =7vq 9i2 =7vr 9i3 =87u 89l =89r 2rei =8bj
8ce =8qn xhu =8rz 4as 2f0 pv3 1nhk =8s0 1fdr =8s5 og 37c 8 t1d =8s6 xvk =8ty 7jk =8vc 1ew0 =8xs 1f3s
=8xu 6e6 1tn x0 =8yf 6e5 i9 17aj =92k 5wu =9i4 1efy =9j0 6yp 1ab =9ko 9nc =9oc 3g3 2w1 1 yz 1 1z3 gx
33 5kg hrr h7a =9oc.3fl 16m1 =9oc.3fp 16m2 =9oc.3fp.ffs 16m3 =9oc.3ft 16m4 =9oc.3fy 3h1 =9oc.9oc 3h2
=9oc.ffs 3g4 6b2 =9oc.ffs.3fy 3h3 =a84.9.6hp 2q99 =aim 96z =ako dcr =app beb =b96 97b =bi9 jrd =bmi
kc6 =bp1 ph2 =bp6 imo =bp7 dgg =bs3 kx5 =cop vk3 =cov k83 =dhf kdi =dyu ra6 =ffs 3g5 3l3 3 3 3 5 4
28j gy 32 =ffs.3fl 3h4 =ffs.3fn 3h5 =ffs.3fn.3ft 16m5 =ffs.3fn.ffs 16m6 =ffs.3fr 16m7 =ffs.3fr.ffs
16m8 =ffs.3ft 3h6 =ffs.3ft.ffs 16m9 =ffs.3fx 16ma =ffs.3fy 3h7 =ffs.3g2 16mb =ffs.3ha 3h9 =ffs.9oc
3h8 =ffs.ffs 16mc =ffw 97q =fh5 9ac kc =fh6 96r nw =fh7 96q no =fi8 99u =fid 9ad k5 =fik 9ae cl =fj4
9af =fju 9ag =fjv 96t f3 =fp1 fsy =ftw fuk =g1r 9ah =g1s 972 =g2t 9ai =g2z 9aj ck =g3m 9ak =g46 9al
=g4r 9am =g68 9an =g6t 9ao =g74 9ap =g76 96x =gbf 9aq bd =ge1 9ar =get 9as =gey 9at =gfs 9au =gg1
9av 81 =gg4 9ix =gg5 9iy =ggd 34m =ggg 34l =ggs 9aw c0 =gh5 9ax =ghu 9ay =gja 9az =gjs 9b0 =gkj 9b1
1 cv 7hm =gur gv3 =h7j 9b3 1 897 =hgh hgr =hij hkv =hky 9b5 =hl6 9b6 =hlh 9b7 bg =hlz 9b8 =ho3 9b9
=hwv hz4 =i1c 9ba =i2o 9bb =i60 9bc =i6n 9bd =i76 974 4a =i77 973 =i7s 9bf =i9a 9bg =i9d 9bh =ijf
9bi =ijp 9bj ah =ik1 9bk =ik3 976 =ike 9bl =ild ilu =inm 9bm =inu 977 4g =inz 9bo =ir8 9bp =iri 9bq
=irv 9br =is3 9bs =its 9bt =itt 978 =iu9 9bu =iur 9bv =iwz 9bw =ix0 97a =jd4 9bx =jee 9by a2i =jez
9bz =jf0 97c =jzj 9c0 =jzo 9c1 =jzp 97d =k1z 9c2 =k21 99n =k2f 9c3 =k2s 9c4 =k3d 9c5 =k4g 9c6 =k4h
97f =k4l 9c7 =k7u k89 =kc0 9c8 =kco 9c9 =kcs peu =kcv pg0 =kcw pfu =kcz phd =kd4 pif =kdf plz =kdk
9ca =kfi kjj =kv1 kyv =l5s 9cb =l7m 9cc =l7z 99p =l89 9cd =l8a 97i =l9v 9ce =laj 9cf =lal 97j =las
9cg =laz 9ch =lcf 9ci =lch 97k =lck 9cj =ldg 9ck =ldh 97l =ldm 97m =lu0 lzt =m7f 9cl =m7g 97n =mju
9cm =mjv 97o =mk6 9cn =mkb 9co =mkf 9cp =mkn 9cq =ml5 9cr =ml7 9cs =mng 9ct =mnh 97s =mtg 9cu =mtl
9cv =n30 9cw =n3a 9cx =n4o 9cy =n4v 9cz =n54 9d0 =n5c 9d1 =n7v 9d2 =n82 9d3 =nee 9d4 =nel 9d5 =nfy
9d6 =ngf 9d7 =nhq 9d8 =nob 9d9 =noi 9da =noz 9db =npw nrj =ny2 9dc =ny3 97x =o1k 9dd =o1q 9de =o6s
9df =o97 9dg =o9o 99r =oah 9dh =okz 9di =ooo 9dj =oop 97z =or9 os6 =p4m 9dk =p5d 9dl =p5e 97v 7 =p5f
981 =p6y 9dm =p8d 9dn =pa9 9do =paa 989 =pak 9dp =paq 9dq =pbn 9dr =pdr 9ds =pds 98a =pe1 9dt =ph8
pj5 =pnn 9du =pnu 9dv =po3 9dw =poc 9dx =pos 9dy =pp7 9dz =ppb 9e0 =pri 9e1 =prm 9e2 =prs 9e3 =prt
98e 1 1 =q6l qbj =qif qip =qj1 9e4 =qj2 98h =qjv 9e5 =qww 9e6 =qx8 9e7 =qxv 9e8 =qxw 98i =r5q 9e9
=r5r 98k =r5s 98j =r63 9ea =r7l 98l =r82 9eb =r9c 9ec =ram rct =rk6 rkf =rkw 98o =rp3 9ed =rpi 9ee
=rpx 9ef =rq4 rqb =rqw 9eg =rrx 9eh =rvh 98p =rxg 9ei =rxs 9ej =ry7 rye =rzn 9ek =s11 s1m =s5z s63
=s6j 9el =s7e 9em =s8v s9z =sbq 98r =sd7 9en =sds 9eo =sdx 9ep =sdy 98s 1 =sk1 9eq =slq sm6 =sp5 9er
=ssm 9es =sss 9et =ssx 9eu =t65 t66 =tc5 98w =tiv 98x 5y =tiw 98y =tj3 98z =tj4 9ew =tm0 990 =tng
9ex =tnh 98v 7 =trq 9ey =trr trs =trt 9ez =tt4 9f0 =tw1 9f1 =tw2 994 =twe 9f2 =twi 9f3 =twp 9f4 =tzf
9f5 =u06 995 =u0d 9f6 =u0j 9f7 =u0x 9f8 =u45 996 =u5k 9f9 =u6m 997 =u6z 9fa =u72 998 =u73 999 62
=u74 99b =uar 99c =uc6 9fc =uc9 9fd =ucs 9fe =ui4 99e =ujs 9ff =ul4 9fg =ulb 9fh =un9 9fi =unj 9fj
=unm 9fk =unw 99g 65 =uoq 9fm =uws 99h =uzp 9fn =v9e v9f =vat 9fo =vb3 9fp =vc5 9fq =vc6 99k =vcr
9fr =vcz 9fs =vd0 99l =vd9 9ft =vdd 9fu lxk =veh 9fv =vel 9fw =vf2 9fx =vf7 9fy =vfk 9fz =vgb 9g0
=vgq 9g1 =vgw 99o =vgy 9g2 =vi7 99q =vil 9g3 =vix 99s =vj0 9g4 =vj3 99v =vj4 9g5 =vnu wim =vo0 wj0
=vr4 wik =vua wiw =w2h wjj =w4x wji =w5p wic =wbv wjk =wc5 wjm =wcf wje =wci wj4 =wgo wiv =wk5 6ud
10d p9r 1my3 =wkk x3y =wko 6kh =wl2 6ki 18sv l5h jjj m =wuk x4m =wuw 20ik qud =wvd 1fjf =wz7.wz7 wz8
=x0n x3p =x1a sf =x1b ot =x2o 6ex =x2x x2y =x3a 3a8 =x3m sk 5ns 2cc =x3n gr 9m 1s 2n 59 5wj 1w5 p3m
hhq 42t 11iw m 10 m 10 m 10 m 10 m =x3n.mq 707 =x6j 4af 2fsp =xdn 1i3g =xdo 1i3f =xi5 xib =xjk xja
=xkx xn7 =xlv xna =1e7z 1ef2 =1e9e.18x 1dum =1e9g.18x 1dun =1e9i.18x 1duo =1e9j.18x 1dyq =1e9k.18x
1dup =1e9l.18x 1dyr =1e9m.18x 1duq =1e9n.18x 1dys =1e9o.19s 1dur =1ehq 9ln =1ehr 9lo =1f3c 6tx 1gs
om1 1uha =1f3w 7gd 2clz 7ao =1f40 89i =1f9e 1fbl =1f9v 1fbn =1fa2 1kxk =1fde x3u =1fei x3v =1fgm
1fhc =1ggu 7j9 1h3o =1gly.1gly 1glz =1h1e 1h4s =1h2d 1h4q =1ik4.1iki.1ij6 1ij7 =1ik4.1iki.1ijc 1ijd
=1ik4.1iki.1ijn 1ijo =1ik4.1iki.1ijt 1iju =1ik4.1iki.1ijw 1ijx =1ik4.1iki.1ijy 1ijz =1ikr.1ikr 1iks
=1ite 1ivs 1 =1itf 1ivu =1itg 1ivv =1iuq 1ivw =1iur 1ivx =1iyp.1iyp 1iyq =1jvp.1jvp 1jvs
=1jvp.1jvp.1jvz 1jvt =1jvp.1jvp.1jw0 1jvu =1jvp.1jvz 1jvq =1jvp.1jw0 1jvr =1jvv.1jvv 1jvx
=1jvv.1jvv.1jvz 1jvy =1jvv.1jvz 1jvw =1jw3.1jvz 1jw4 =1jw3.1jw0 1jw5 =1jw3.1jw3 1jw6 =1jw3.1jw3.1jvz
1jw7 =1jw3.1jw3.1jw0 1jw8 =1k5d.1k5d 1k5e =1k8a 1k8i =20hs 6kj =2jx4.2jxh 7l5 =2jx4.2jxh.2jxq 7l6
=2q6l 7ai =2q6m 6nu
`;
