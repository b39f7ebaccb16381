/* rfm_signal - from samples to features.
 *
 * Contents:
 *   1. Sines              one table for both number types
 *   2. Numbers            sums of more than 32 bits, roots, logarithms, all without a division
 *   3. Spectra            the Fourier transform of real numbers
 *   4. What is computed   the bytes of a signal
 *   5. Streams            ring and filters
 *   6. Features           of integers, of reals
 *   7. Specs              from text to bytes; not with RFM_NO_TRAIN
 *
 * No sum of 32 bits overflows. x are samples, |x| <= 2^15, W <= 2^15 - 1:
 *
 *   filter       |sum of five products + rest| <= 2^15 * 65535 + 8191 < 2^31; rfm_signal_open checks sum |c| <= 65535
 *   sum of x     2^15 (2^15 - 1) < 2^30; for the mean 2^15 W + W / 2 is added, which makes it less than 2^31
 *   x - mean     |d| <= 65535, so d^2 < 2^32; squares are added in 64 bits, as two words
 *   window       |d w| <= 65535 * 2^15 < 2^31
 *   butterflies  at the head of section 3
 *   power        re^2 + im^2 <= 2 * 2^30 = 2^31 in 32 bits without a sign; added in two words
 *   cosines      |logarithm| < 2^15, the cosine has 14 bits; >> 6 leaves 2^23; of at most 64 bands: 2^29
 */
#include "rfm_signal.h"
#include "rfm_private.h"

#ifndef RFM_NO_TRAIN
#include <math.h>
#endif

/* ==== 1. Sines =============================================================================== */

/* 2^30 sin(2 pi i / RFM_SIGNAL_LONGEST), a quarter of a circle: i = 0 to RFM_SIGNAL_LONGEST / 4. The table for 4096
 * holds all the shorter ones: Q0 are those that only 4096 has, Q1 those that 2048 has, too, and so on. */
#define QUARTER (RFM_SIGNAL_LONGEST / 4)

#define Q7(x) x,
#if RFM_SIGNAL_LONGEST >= 64
#define Q6(x) x,
#else
#define Q6(x)
#endif
#if RFM_SIGNAL_LONGEST >= 128
#define Q5(x) x,
#else
#define Q5(x)
#endif
#if RFM_SIGNAL_LONGEST >= 256
#define Q4(x) x,
#else
#define Q4(x)
#endif
#if RFM_SIGNAL_LONGEST >= 512
#define Q3(x) x,
#else
#define Q3(x)
#endif
#if RFM_SIGNAL_LONGEST >= 1024
#define Q2(x) x,
#else
#define Q2(x)
#endif
#if RFM_SIGNAL_LONGEST >= 2048
#define Q1(x) x,
#else
#define Q1(x)
#endif
#if RFM_SIGNAL_LONGEST >= 4096
#define Q0(x) x,
#else
#define Q0(x)
#endif

/* clang-format off */
static const int32_t quarter[QUARTER + 1] = {
    Q7(0) Q0(1647099) Q1(3294193) Q0(4941281) Q2(6588356) Q0(8235416) Q1(9882456) Q0(11529474) Q3(13176464)
    Q0(14823423) Q1(16470347) Q0(18117233) Q2(19764076) Q0(21410872) Q1(23057618) Q0(24704310) Q4(26350943)
    Q0(27997515) Q1(29644021) Q0(31290457) Q2(32936819) Q0(34583104) Q1(36229307) Q0(37875426) Q3(39521455)
    Q0(41167391) Q1(42813230) Q0(44458968) Q2(46104602) Q0(47750128) Q1(49395541) Q0(51040837) Q5(52686014)
    Q0(54331067) Q1(55975992) Q0(57620785) Q2(59265442) Q0(60909960) Q1(62554335) Q0(64198563) Q3(65842639)
    Q0(67486561) Q1(69130324) Q0(70773924) Q2(72417357) Q0(74060620) Q1(75703709) Q0(77346620) Q4(78989349)
    Q0(80631892) Q1(82274245) Q0(83916404) Q2(85558366) Q0(87200127) Q1(88841683) Q0(90483029) Q3(92124163)
    Q0(93765079) Q1(95405776) Q0(97046247) Q2(98686491) Q0(100326502) Q1(101966277) Q0(103605812) Q6(105245103)
    Q0(106884147) Q1(108522939) Q0(110161476) Q2(111799753) Q0(113437768) Q1(115075515) Q0(116712992) Q3(118350194)
    Q0(119987118) Q1(121623759) Q0(123260114) Q2(124896179) Q0(126531950) Q1(128167423) Q0(129802595) Q4(131437462)
    Q0(133072019) Q1(134706263) Q0(136340190) Q2(137973796) Q0(139607077) Q1(141240030) Q0(142872651) Q3(144504935)
    Q0(146136880) Q1(147768480) Q0(149399733) Q2(151030634) Q0(152661180) Q1(154291367) Q0(155921191) Q5(157550647)
    Q0(159179733) Q1(160808445) Q0(162436778) Q2(164064728) Q0(165692293) Q1(167319468) Q0(168946249) Q3(170572633)
    Q0(172198615) Q1(173824192) Q0(175449360) Q2(177074115) Q0(178698453) Q1(180322371) Q0(181945865) Q4(183568930)
    Q0(185191564) Q1(186813762) Q0(188435520) Q2(190056834) Q0(191677702) Q1(193298119) Q0(194918080) Q3(196537583)
    Q0(198156624) Q1(199775198) Q0(201393302) Q2(203010932) Q0(204628085) Q1(206244756) Q0(207860942) Q7(209476638)
    Q0(211091842) Q1(212706549) Q0(214320755) Q2(215934457) Q0(217547651) Q1(219160334) Q0(220772500) Q3(222384147)
    Q0(223995270) Q1(225605867) Q0(227215933) Q2(228825464) Q0(230434456) Q1(232042906) Q0(233650811) Q4(235258165)
    Q0(236864966) Q1(238471210) Q0(240076892) Q2(241682010) Q0(243286558) Q1(244890535) Q0(246493935) Q3(248096755)
    Q0(249698991) Q1(251300640) Q0(252901697) Q2(254502159) Q0(256102022) Q1(257701283) Q0(259299937) Q5(260897982)
    Q0(262495412) Q1(264092224) Q0(265688415) Q2(267283981) Q0(268878918) Q1(270473223) Q0(272066891) Q3(273659918)
    Q0(275252302) Q1(276844038) Q0(278435122) Q2(280025552) Q0(281615322) Q1(283204430) Q0(284792871) Q4(286380643)
    Q0(287967740) Q1(289554160) Q0(291139898) Q2(292724951) Q0(294309316) Q1(295892988) Q0(297475964) Q3(299058239)
    Q0(300639811) Q1(302220676) Q0(303800829) Q2(305380268) Q0(306958988) Q1(308536985) Q0(310114257) Q6(311690799)
    Q0(313266607) Q1(314841679) Q0(316416009) Q2(317989595) Q0(319562433) Q1(321134518) Q0(322705848) Q3(324276419)
    Q0(325846226) Q1(327415267) Q0(328983538) Q2(330551034) Q0(332117752) Q1(333683689) Q0(335248841) Q4(336813204)
    Q0(338376774) Q1(339939549) Q0(341501523) Q2(343062693) Q0(344623057) Q1(346182609) Q0(347741347) Q3(349299266)
    Q0(350856364) Q1(352412636) Q0(353968079) Q2(355522689) Q0(357076462) Q1(358629395) Q0(360181484) Q5(361732726)
    Q0(363283116) Q1(364832652) Q0(366381329) Q2(367929144) Q0(369476093) Q1(371022173) Q0(372567379) Q3(374111709)
    Q0(375655159) Q1(377197725) Q0(378739403) Q2(380280190) Q0(381820082) Q1(383359076) Q0(384897167) Q4(386434353)
    Q0(387970630) Q1(389505993) Q0(391040440) Q2(392573967) Q0(394106570) Q1(395638246) Q0(397168991) Q3(398698801)
    Q0(400227673) Q1(401755603) Q0(403282588) Q2(404808624) Q0(406333708) Q1(407857835) Q0(409381002) Q7(410903207)
    Q0(412424444) Q1(413944711) Q0(415464004) Q2(416982319) Q0(418499653) Q1(420016002) Q0(421531363) Q3(423045732)
    Q0(424559105) Q1(426071480) Q0(427582852) Q2(429093217) Q0(430602573) Q1(432110916) Q0(433618242) Q4(435124548)
    Q0(436629829) Q1(438134084) Q0(439637307) Q2(441139496) Q0(442640647) Q1(444140756) Q0(445639820) Q3(447137835)
    Q0(448634799) Q1(450130706) Q0(451625555) Q2(453119340) Q0(454612060) Q1(456103710) Q0(457594286) Q5(459083786)
    Q0(460572205) Q1(462059541) Q0(463545789) Q2(465030947) Q0(466515010) Q1(467997976) Q0(469479840) Q3(470960600)
    Q0(472440251) Q1(473918791) Q0(475396216) Q2(476872522) Q0(478347705) Q1(479821764) Q0(481294693) Q4(482766489)
    Q0(484237150) Q1(485706671) Q0(487175049) Q2(488642281) Q0(490108363) Q1(491573292) Q0(493037064) Q3(494499676)
    Q0(495961124) Q1(497421405) Q0(498880516) Q2(500338453) Q0(501795212) Q1(503250791) Q0(504705185) Q6(506158392)
    Q0(507610408) Q1(509061229) Q0(510510853) Q2(511959275) Q0(513406493) Q1(514852502) Q0(516297300) Q3(517740883)
    Q0(519183248) Q1(520624391) Q0(522064309) Q2(523502998) Q0(524940456) Q1(526376678) Q0(527811662) Q4(529245404)
    Q0(530677900) Q1(532109148) Q0(533539144) Q2(534967884) Q0(536395365) Q1(537821584) Q0(539246538) Q3(540670223)
    Q0(542092635) Q1(543513772) Q0(544933630) Q2(546352205) Q0(547769495) Q1(549185496) Q0(550600205) Q5(552013618)
    Q0(553425732) Q1(554836544) Q0(556246051) Q2(557654248) Q0(559061133) Q1(560466703) Q0(561870954) Q3(563273883)
    Q0(564675486) Q1(566075761) Q0(567474703) Q2(568872310) Q0(570268579) Q1(571663506) Q0(573057087) Q4(574449320)
    Q0(575840202) Q1(577229728) Q0(578617896) Q2(580004702) Q0(581390144) Q1(582774218) Q0(584156920) Q3(585538248)
    Q0(586918198) Q1(588296766) Q0(589673951) Q2(591049748) Q0(592424154) Q1(593797166) Q0(595168781) Q7(596538995)
    Q0(597907806) Q1(599275210) Q0(600641203) Q2(602005783) Q0(603368947) Q1(604730691) Q0(606091012) Q3(607449906)
    Q0(608807372) Q1(610163404) Q0(611518001) Q2(612871159) Q0(614222875) Q1(615573145) Q0(616921967) Q4(618269338)
    Q0(619615253) Q1(620959711) Q0(622302707) Q2(623644239) Q0(624984303) Q1(626322897) Q0(627660017) Q3(628995660)
    Q0(630329823) Q1(631662503) Q0(632993696) Q2(634323400) Q0(635651611) Q1(636978327) Q0(638303543) Q5(639627258)
    Q0(640949467) Q1(642270169) Q0(643589359) Q2(644907034) Q0(646223192) Q1(647537830) Q0(648850943) Q3(650162530)
    Q0(651472587) Q1(652781111) Q0(654088099) Q2(655393548) Q0(656697454) Q1(657999816) Q0(659300629) Q4(660599890)
    Q0(661897597) Q1(663193747) Q0(664488336) Q2(665781362) Q0(667072820) Q1(668362709) Q0(669651026) Q3(670937767)
    Q0(672222928) Q1(673506508) Q0(674788504) Q2(676068911) Q0(677347728) Q1(678624950) Q0(679900576) Q6(681174602)
    Q0(682447025) Q1(683717842) Q0(684987051) Q2(686254647) Q0(687520629) Q1(688784993) Q0(690047736) Q3(691308855)
    Q0(692568348) Q1(693826211) Q0(695082441) Q2(696337036) Q0(697589992) Q1(698841307) Q0(700090977) Q4(701339000)
    Q0(702585372) Q1(703830092) Q0(705073155) Q2(706314559) Q0(707554301) Q1(708792378) Q0(710028787) Q3(711263525)
    Q0(712496590) Q1(713727978) Q0(714957687) Q2(716185713) Q0(717412054) Q1(718636707) Q0(719859669) Q5(721080937)
    Q0(722300508) Q1(723518380) Q0(724734549) Q2(725949013) Q0(727161768) Q1(728372813) Q0(729582143) Q3(730789757)
    Q0(731995651) Q1(733199822) Q0(734402269) Q2(735602987) Q0(736801974) Q1(737999228) Q0(739194745) Q4(740388522)
    Q0(741580558) Q1(742770848) Q0(743959390) Q2(745146182) Q0(746331221) Q1(747514503) Q0(748696026) Q3(749875788)
    Q0(751053785) Q1(752230015) Q0(753404474) Q2(754577161) Q0(755748072) Q1(756917205) Q0(758084557) Q7(759250125)
    Q0(760413906) Q1(761575898) Q0(762736098) Q2(763894504) Q0(765051111) Q1(766205919) Q0(767358923) Q3(768510122)
    Q0(769659512) Q1(770807092) Q0(771952857) Q2(773096806) Q0(774238936) Q1(775379244) Q0(776517728) Q4(777654384)
    Q0(778789210) Q1(779922204) Q0(781053363) Q2(782182683) Q0(783310163) Q1(784435800) Q0(785559591) Q3(786681534)
    Q0(787801625) Q1(788919863) Q0(790036244) Q2(791150767) Q0(792263427) Q1(793374223) Q0(794483153) Q5(795590213)
    Q0(796695401) Q1(797798714) Q0(798900150) Q2(799999706) Q0(801097379) Q1(802193167) Q0(803287068) Q3(804379079)
    Q0(805469196) Q1(806557419) Q0(807643743) Q2(808728167) Q0(809810688) Q1(810891304) Q0(811970011) Q4(813046808)
    Q0(814121692) Q1(815194659) Q0(816265709) Q2(817334838) Q0(818402043) Q1(819467323) Q0(820530675) Q3(821592095)
    Q0(822651583) Q1(823709135) Q0(824764748) Q2(825818421) Q0(826870150) Q1(827919934) Q0(828967769) Q6(830013654)
    Q0(831057586) Q1(832099562) Q0(833139580) Q2(834177638) Q0(835213733) Q1(836247863) Q0(837280024) Q3(838310216)
    Q0(839338435) Q1(840364679) Q0(841388945) Q2(842411232) Q0(843431536) Q1(844449856) Q0(845466188) Q4(846480531)
    Q0(847492882) Q1(848503239) Q0(849511600) Q2(850517961) Q0(851522321) Q1(852524677) Q0(853525028) Q3(854523370)
    Q0(855519701) Q1(856514019) Q0(857506321) Q2(858496606) Q0(859484870) Q1(860471112) Q0(861455330) Q5(862437520)
    Q0(863417681) Q1(864395810) Q0(865371905) Q2(866345964) Q0(867317984) Q1(868287963) Q0(869255900) Q3(870221790)
    Q0(871185633) Q1(872147426) Q0(873107167) Q2(874064853) Q0(875020483) Q1(875974054) Q0(876925563) Q4(877875009)
    Q0(878822389) Q1(879767701) Q0(880710943) Q2(881652112) Q0(882591207) Q1(883528225) Q0(884463164) Q3(885396022)
    Q0(886326796) Q1(887255485) Q0(888182086) Q2(889106597) Q0(890029016) Q1(890949341) Q0(891867569) Q7(892783698)
    Q0(893697727) Q1(894609652) Q0(895519473) Q2(896427186) Q0(897332790) Q1(898236282) Q0(899137661) Q3(900036924)
    Q0(900934069) Q1(901829095) Q0(902721998) Q2(903612776) Q0(904501429) Q1(905387953) Q0(906272347) Q4(907154608)
    Q0(908034735) Q1(908912725) Q0(909788576) Q2(910662286) Q0(911533853) Q1(912403276) Q0(913270551) Q3(914135678)
    Q0(914998653) Q1(915859476) Q0(916718143) Q2(917574653) Q0(918429004) Q1(919281194) Q0(920131221) Q5(920979082)
    Q0(921824777) Q1(922668302) Q0(923509656) Q2(924348837) Q0(925185843) Q1(926020672) Q0(926853322) Q3(927683790)
    Q0(928512076) Q1(929338177) Q0(930162092) Q2(930983817) Q0(931803352) Q1(932620694) Q0(933435842) Q4(934248793)
    Q0(935059546) Q1(935868098) Q0(936674448) Q2(937478595) Q0(938280535) Q1(939080267) Q0(939877790) Q3(940673101)
    Q0(941466198) Q1(942257081) Q0(943045745) Q2(943832191) Q0(944616416) Q1(945398418) Q0(946178196) Q6(946955747)
    Q0(947731070) Q1(948504163) Q0(949275023) Q2(950043650) Q0(950810042) Q1(951574196) Q0(952336111) Q3(953095785)
    Q0(953853216) Q1(954608403) Q0(955361344) Q2(956112036) Q0(956860479) Q1(957606670) Q0(958350608) Q4(959092290)
    Q0(959831716) Q1(960568883) Q0(961303790) Q2(962036435) Q0(962766816) Q1(963494932) Q0(964220780) Q3(964944360)
    Q0(965665669) Q1(966384706) Q0(967101468) Q2(967815955) Q0(968528165) Q1(969238095) Q0(969945745) Q5(970651112)
    Q0(971354196) Q1(972054994) Q0(972753504) Q2(973449725) Q0(974143656) Q1(974835295) Q0(975524639) Q3(976211688)
    Q0(976896441) Q1(977578894) Q0(978259047) Q2(978936898) Q0(979612445) Q1(980285688) Q0(980956623) Q4(981625251)
    Q0(982291568) Q1(982955574) Q0(983617267) Q2(984276646) Q0(984933708) Q1(985588453) Q0(986240879) Q3(986890984)
    Q0(987538766) Q1(988184225) Q0(988827359) Q2(989468165) Q0(990106644) Q1(990742793) Q0(991376610) Q7(992008094)
    Q0(992637245) Q1(993264059) Q0(993888536) Q2(994510675) Q0(995130473) Q1(995747930) Q0(996363043) Q3(996975812)
    Q0(997586236) Q1(998194311) Q0(998800038) Q2(999403415) Q0(1000004439) Q1(1000603111) Q0(1001199428)
    Q4(1001793390) Q0(1002384994) Q1(1002974239) Q0(1003561124) Q2(1004145648) Q0(1004727809) Q1(1005307605)
    Q0(1005885036) Q3(1006460100) Q0(1007032796) Q1(1007603122) Q0(1008171077) Q2(1008736660) Q0(1009299870)
    Q1(1009860704) Q0(1010419162) Q5(1010975242) Q0(1011528943) Q1(1012080264) Q0(1012629204) Q2(1013175761)
    Q0(1013719934) Q1(1014261721) Q0(1014801122) Q3(1015338134) Q0(1015872758) Q1(1016404991) Q0(1016934832)
    Q2(1017462281) Q0(1017987335) Q1(1018509994) Q0(1019030256) Q4(1019548121) Q0(1020063586) Q1(1020576651)
    Q0(1021087314) Q2(1021595575) Q0(1022101432) Q1(1022604883) Q0(1023105929) Q3(1023604567) Q0(1024100796)
    Q1(1024594615) Q0(1025086024) Q2(1025575020) Q0(1026061603) Q1(1026545772) Q0(1027027525) Q6(1027506862)
    Q0(1027983780) Q1(1028458280) Q0(1028930359) Q2(1029400018) Q0(1029867254) Q1(1030332067) Q0(1030794455)
    Q3(1031254418) Q0(1031711954) Q1(1032167062) Q0(1032619742) Q2(1033069992) Q0(1033517810) Q1(1033963197)
    Q0(1034406151) Q4(1034846671) Q0(1035284755) Q1(1035720404) Q0(1036153615) Q2(1036584389) Q0(1037012723)
    Q1(1037438617) Q0(1037862069) Q3(1038283080) Q0(1038701647) Q1(1039117770) Q0(1039531448) Q2(1039942680)
    Q0(1040351465) Q1(1040757802) Q0(1041161689) Q5(1041563127) Q0(1041962114) Q1(1042358649) Q0(1042752731)
    Q2(1043144360) Q0(1043533534) Q1(1043920252) Q0(1044304514) Q3(1044686319) Q0(1045065665) Q1(1045442553)
    Q0(1045816980) Q2(1046188946) Q0(1046558451) Q1(1046925492) Q0(1047290071) Q4(1047652185) Q0(1048011834)
    Q1(1048369016) Q0(1048723732) Q2(1049075980) Q0(1049425759) Q1(1049773069) Q0(1050117909) Q3(1050460278)
    Q0(1050800175) Q1(1051137599) Q0(1051472550) Q2(1051805027) Q0(1052135029) Q1(1052462555) Q0(1052787604)
    Q7(1053110176) Q0(1053430270) Q1(1053747885) Q0(1054063021) Q2(1054375676) Q0(1054685850) Q1(1054993543)
    Q0(1055298753) Q3(1055601479) Q0(1055901722) Q1(1056199480) Q0(1056494753) Q2(1056787540) Q0(1057077840)
    Q1(1057365653) Q0(1057650977) Q4(1057933813) Q0(1058214159) Q1(1058492016) Q0(1058767381) Q2(1059040255)
    Q0(1059310638) Q1(1059578527) Q0(1059843923) Q3(1060106826) Q0(1060367233) Q1(1060625146) Q0(1060880563)
    Q2(1061133483) Q0(1061383907) Q1(1061631833) Q0(1061877261) Q5(1062120190) Q0(1062360620) Q1(1062598550)
    Q0(1062833980) Q2(1063066909) Q0(1063297336) Q1(1063525261) Q0(1063750684) Q3(1063973603) Q0(1064194019)
    Q1(1064411931) Q0(1064627338) Q2(1064840240) Q0(1065050636) Q1(1065258526) Q0(1065463909) Q4(1065666786)
    Q0(1065867154) Q1(1066065015) Q0(1066260367) Q2(1066453210) Q0(1066643544) Q1(1066831367) Q0(1067016680)
    Q3(1067199483) Q0(1067379774) Q1(1067557554) Q0(1067732821) Q2(1067905576) Q0(1068075818) Q1(1068243547)
    Q0(1068408763) Q6(1068571464) Q0(1068731650) Q1(1068889322) Q0(1069044479) Q2(1069197120) Q0(1069347245)
    Q1(1069494854) Q0(1069639946) Q3(1069782521) Q0(1069922579) Q1(1070060120) Q0(1070195142) Q2(1070327646)
    Q0(1070457632) Q1(1070585099) Q0(1070710046) Q4(1070832474) Q0(1070952382) Q1(1071069770) Q0(1071184638)
    Q2(1071296985) Q0(1071406812) Q1(1071514117) Q0(1071618901) Q3(1071721163) Q0(1071820903) Q1(1071918122)
    Q0(1072012818) Q2(1072104991) Q0(1072194642) Q1(1072281769) Q0(1072366374) Q5(1072448455) Q0(1072528012)
    Q1(1072605046) Q0(1072679556) Q2(1072751542) Q0(1072821003) Q1(1072887940) Q0(1072952352) Q3(1073014240)
    Q0(1073073603) Q1(1073130440) Q0(1073184753) Q2(1073236540) Q0(1073285802) Q1(1073332538) Q0(1073376748)
    Q4(1073418433) Q0(1073457592) Q1(1073494225) Q0(1073528332) Q2(1073559913) Q0(1073588967) Q1(1073615496)
    Q0(1073639498) Q3(1073660973) Q0(1073679922) Q1(1073696345) Q0(1073710241) Q2(1073721611) Q0(1073730454)
    Q1(1073736771) Q0(1073740561) Q7(1073741824)
};
/* clang-format on */
#undef Q0
#undef Q1
#undef Q2
#undef Q3
#undef Q4
#undef Q5
#undef Q6
#undef Q7

#define SINE_ONE 1073741824 /* 2^30 */

/* Of angle / RFM_SIGNAL_LONGEST of a circle. */
static int32_t sine(uint32_t angle) {
    int32_t value;
    uint32_t a = angle & (2 * QUARTER - 1);
    value = quarter[a <= QUARTER ? a : 2 * QUARTER - a];
    return angle & (2 * QUARTER) ? -value : value;
}
/* RFM_SIGNAL_LONGEST / n, n a power of two: angles of an n-th part of a circle. */
static uint32_t turn_of(uint32_t n) {
    uint32_t turn = RFM_SIGNAL_LONGEST;
    for (; n > 1; n >>= 1) turn >>= 1;
    return turn;
}

/* With 15 bits. */
static int32_t sine_15(uint32_t angle) { return (sine(angle) + (1 << 14)) >> 15; }
static int32_t cosine_15(uint32_t angle) { return sine_15(angle + QUARTER); }

/* ==== 2. Numbers ============================================================================= */

/* 64 bits as two words: a 64-bit type would call the compiler's library on small processors. */
typedef struct {
    uint32_t high, low;
} wide;

static inline void wide_add(wide *sum, uint32_t value) {
    sum->low += value;
    sum->high += sum->low < value;
}

/* Bits of a number: 0 of 0, 32 of 2^31. */
static int bits_of(uint32_t value) {
    int bits = 0;
    if (value >> 16) value >>= 16, bits += 16;
    if (value >> 8) value >>= 8, bits += 8;
    if (value >> 4) value >>= 4, bits += 4;
    for (; value != 0; value >>= 1) bits++;
    return bits;
}

/* floor(a / by), at most 2^32 - 1; 0 < by < 2^31. Bit by bit. */
static RFM_ALONE uint32_t quotient(wide a, uint32_t by) {
    uint32_t rest = 0, high = a.high, low = a.low, result = 0, over = 0;
    int i;
    for (i = 0; i < 64; i++) {
        rest = rest << 1 | high >> 31;
        high = high << 1 | low >> 31, low <<= 1;
        over |= result >> 31, result <<= 1;
        if (rest >= by) rest -= by, result |= 1;
    }
    return over ? UINT32_MAX : result;
}

/* A number as top 2^*exponent, 2^30 <= top < 2^32, *exponent even, rounded down; 0 as 0. */
static uint32_t top_of(wide a, int *exponent) {
    int bits = a.high != 0 ? 32 + bits_of(a.high) : bits_of(a.low), shift = bits + (bits & 1) - 32;
    *exponent = shift;
    if (bits == 0) return 0;
    if (shift <= 0) return a.low << -shift;
    return shift >= 32 ? a.high >> (shift - 32) : a.high << (32 - shift) | a.low >> shift;
}

static int16_t most_16(uint32_t value) { return (int16_t)(value < 32767 ? value : 32767); }

/* sqrt(a 2^exponent), rounded, at most 32767. exponent is even. */
static RFM_ALONE int16_t root_of(wide a, int exponent) {
    int shift;
    uint32_t root = root_below(top_of(a, &shift)); /* below 2^16, and 2^15 or more unless it is 0 */
    shift = -(shift + exponent) / 2;
    if (root == 0) return 0;
    if (shift <= 0) return 32767;
    return most_16(shift > 17 ? 0 : ((root >> (shift - 1)) + 1) >> 1);
}

/* 1024 log2(1 + a 2^exponent), to within 1; at most 32767. Where the power is 2^16 or more the 1 is left out. The
 * digits of log2 of m, 1 <= m < 2, come one by one: squaring m doubles its logarithm. */
static RFM_ALONE int16_t log_of(wide a, int exponent) {
    int shift, bits, i;
    uint32_t v = top_of(a, &shift), m, result;
    exponent += shift;
    if (v == 0 || exponent < -47) return 0;
    if (bits_of(v) + exponent <= 16) v = (exponent <= -46 ? 0 : v >> (-exponent - 15)) + 32768, exponent = -15;
    bits = bits_of(v);
    if (bits - 1 + exponent >= 32) return 32767;
    m = bits > 16 ? v >> (bits - 16) : v << (16 - bits);
    result = (uint32_t)(bits - 1 + exponent);
    for (i = 0; i < 11; i++) {
        m = m * m >> 15;
        result <<= 1;
        if (m >> 16) m >>= 1, result |= 1;
    }
    return most_16((result + 1) >> 1);
}

/* log2(x), x >= 1 and finite: 2 / log 2 times the series of artanh. */
static rfm_real log2_real(rfm_real x) {
    static const rfm_real terms[6] = {R(2.8853900817779268),  R(0.96179669392597561), R(0.57707801635558534),
                                      R(0.41219858311113243), R(0.32059889797532522), R(0.26230818925253882)};
    rfm_real e = R(0), t, sum = terms[5];
    int i;
    while (x >= R(65536)) x *= R(1) / R(65536), e += R(16);
    while (x >= R(1.4142135623730951)) x *= R(0.5), e += R(1);
    t = (x - R(1)) / (x + R(1));
    for (i = 4; i >= 0; i--) sum = sum * (t * t) + terms[i];
    return e + sum * t;
}

/* ==== 3. Spectra =============================================================================
 *
 * The n real numbers are n / 2 complex ones. Their transform is made in place: the order is reversed bit by bit, then
 * come a pass of sums and differences if log2(n / 2) is odd, passes of four, and a last pass that separates the two
 * halves:
 *
 *   four     a + b w^2j + c w^j + d w^3j,  a - b w^2j -+ i (c w^j - d w^3j),  ...         w = exp(-2 pi i / (4 L))
 *   last     X_k = (Z_k + Z*_h-k) / 2 - i / 2 exp(-2 pi i k / n) (Z_k - Z*_h-k)           h = n / 2
 *
 * Integers. Before a pass all parts are at most M, where M + 1 is a power of two. What comes out is divided by 2^s, so
 * that it fits: parts grow at most 1 + 3 sqrt(2) < 5.25 times in a pass of four, 2.42 times in the last one. With
 * M < 2^(12 + s) and 2^(13 + s) it is below 2^15. Sums and differences are always halved.
 *
 * Overflow: re c + im s <= 2^15 2^15 sqrt(2) < 2^31. Products are kept with 12 bits behind the point (>> 3). So are the
 * other terms; then a sum of a pass of four is below 5.25 * 2^27 < 2^30.
 *
 * The error of one pass, in units of its results, for each part: 0.5 of rounding, 3 * 2^-12 of >> 3, and 3 * 2^-16 *
 * 2 M / 2^s < 0.38 of sines with 15 bits: below 0.9, as a complex number below 1.27. A unit is not coarser than what is
 * needed: s > 0 says that M >= 2^(11 + s), so the unit is at most 2^-11 of the largest part that goes into the pass.
 * That one is at most sqrt(2) max|x| times the growth g of the passes before, in absolute values: 4, 2, 2. Passes
 * behind it let an error grow by no more than n / g / 4. So a pass adds at most 1.27 sqrt(2) / 2^11 / 4 n max|x| =
 * 2.2e-4 n max|x|. The pass of sums rounds by less than 1, in units of at most 2^-13 max|x|. The last one has 0.5 more,
 * of sines with 14 bits, because its differences have a bit more, and M >= 2^(12 + s): 1.42 sqrt(2) / 2^12 / 2 =
 * 2.5e-4. Where s = 0 in all passes up to this one, the unit is that of the numbers when they came in, at most 2^-14
 * max|x|, and the same holds. */

/* The bits of i, i < h, in reverse order. */
static uint32_t reversed(uint32_t i, uint32_t h) {
    uint32_t r = 0;
    for (; h > 1; h >>= 1, i >>= 1) r = r << 1 | (i & 1);
    return r;
}

/* Bits of the absolute value, -1 - x for a negative x: what 16 bits can hold has at most 15. */
static inline uint32_t size_of(int32_t x) { return (uint32_t)(x ^ x >> 31); }

typedef struct {
    int32_t re, im;
} pair_i;

/* x w, w = c - i s with 15 bits: 12 bits behind the point. */
static inline pair_i turned(const int16_t *x, int32_t c, int32_t s) {
    pair_i y;
    y.re = (x[0] * c + x[1] * s) >> 3, y.im = (x[1] * c - x[0] * s) >> 3;
    return y;
}

static inline void put_pair(int16_t *to, int32_t re, int32_t im, int32_t half, int shift, uint32_t *size) {
    re = (re + half) >> shift, im = (im + half) >> shift;
    to[0] = (int16_t)re, to[1] = (int16_t)im;
    *size |= size_of(re) | size_of(im);
}

/* Passes of four from L on; the sizes of what comes out. */
static uint32_t pass_of_four(uint32_t h, uint32_t length, int16_t *x, int s) {
    const uint32_t turn = turn_of(4 * length);
    const int shift = 12 + s;
    const int32_t half = (int32_t)1 << (shift - 1);
    uint32_t j, at, size = 0;
    for (j = 0; j < length; j++) {
        int32_t c1 = cosine_15(j * turn), s1 = sine_15(j * turn), c2 = cosine_15(2 * j * turn);
        int32_t s2 = sine_15(2 * j * turn), c3 = cosine_15(3 * j * turn), s3 = sine_15(3 * j * turn);
        for (at = j; at < h; at += 4 * length) {
            int16_t *p0 = x + 2 * at, *p1 = p0 + 2 * length, *p2 = p1 + 2 * length, *p3 = p2 + 2 * length;
            pair_i b = turned(p1, c2, s2), c = turned(p2, c1, s1), d = turned(p3, c3, s3), a, e;
            a.re = p0[0] * 4096 + b.re, a.im = p0[1] * 4096 + b.im;
            e.re = c.re + d.re, e.im = c.im + d.im;
            put_pair(p0, a.re + e.re, a.im + e.im, half, shift, &size);
            put_pair(p2, a.re - e.re, a.im - e.im, half, shift, &size);
            a.re -= 2 * b.re, a.im -= 2 * b.im;
            e.re = c.re - d.re, e.im = c.im - d.im;
            put_pair(p1, a.re + e.im, a.im - e.re, half, shift, &size);
            put_pair(p3, a.re - e.im, a.im + e.re, half, shift, &size);
        }
    }
    return size;
}

/* Half the sums and differences of neighbours, rounded down; the sizes of what comes out. */
static uint32_t pass_of_two(uint32_t h, int16_t *x) {
    uint32_t at, size = 0;
    for (at = 0; at < 2 * h; at += 4) {
        int32_t re = x[at + 2], im = x[at + 3], a = x[at], b = x[at + 1];
        put_pair(x + at, a + re, b + im, 0, 1, &size);
        put_pair(x + at + 2, a - re, b - im, 0, 1, &size);
    }
    return size;
}

/* From the transform of h pairs to that of 2 h numbers. */
static void pass_of_halves(uint32_t h, int16_t *x, int s) {
    const uint32_t turn = turn_of(2 * h);
    const int shift = 13 + s;
    const int32_t half = (int32_t)1 << (shift - 1);
    uint32_t k, size = 0;
    int32_t re = x[0], im = x[1];
    put_pair(x, (re + im) * 8192, (re - im) * 8192, half, shift, &size);
    for (k = 1; 2 * k <= h; k++) {
        int16_t *p = x + 2 * k, *q = x + 2 * (h - k);
        int32_t c = (cosine_15(k * turn) + 1) >> 1, w = (sine_15(k * turn) + 1) >> 1;
        int32_t even_re = (p[0] + q[0]) * 4096, even_im = (p[1] - q[1]) * 4096;
        int32_t odd_re = p[1] + q[1], odd_im = q[0] - p[0]; /* -i (Z_k - Z*) */
        re = (odd_re * c + odd_im * w) >> 2, im = (odd_im * c - odd_re * w) >> 2;
        put_pair(p, even_re + re, even_im + im, half, shift, &size);
        put_pair(q, even_re - re, im - even_im, half, shift, &size);
    }
}

static int at_least_0(int s) { return s > 0 ? s : 0; }

/* n = 2 h. The exponent of the results. */
static int transform_i(uint32_t h, int16_t *x) {
    uint32_t i, length = 1, size = 0;
    int s, exponent;
    for (i = 0; i < 2 * h; i++) size |= size_of(x[i]);
    s = 15 - bits_of(size), exponent = -s;
    if (size == 0) return 0;
    for (i = 0; i < 2 * h; i++) x[i] = (int16_t)(x[i] * ((int32_t)1 << s));
    for (i = 1; i < h; i++) {
        uint32_t j = reversed(i, h);
        int16_t re = x[2 * i], im = x[2 * i + 1];
        if (j <= i) continue;
        x[2 * i] = x[2 * j], x[2 * i + 1] = x[2 * j + 1];
        x[2 * j] = re, x[2 * j + 1] = im;
    }
    size = 0x7fff;
    for (i = h; i > 2; i >>= 2) {
    }
    if (i == 2) {
        size = pass_of_two(h, x);
        exponent += 1, length = 2;
    }
    for (; length < h; length *= 4) {
        s = at_least_0(bits_of(size) - 12);
        size = pass_of_four(h, length, x, s);
        exponent += s;
    }
    s = at_least_0(bits_of(size) - 13);
    pass_of_halves(h, x, s);
    return exponent + s;
}

static int fft_length(size_t n) { return n >= 2 && n <= RFM_SIGNAL_LONGEST && (n & (n - 1)) == 0; }

int rfm_fft_i(size_t n, int16_t *x, int *exponent) {
    if (x == NULL || exponent == NULL) return RFM_ENULL;
    if (!fft_length(n)) return RFM_EVALUE;
    *exponent = transform_i((uint32_t)n / 2, x);
    return RFM_OK;
}

/* ---- reals: the same passes ---- */

typedef struct {
    rfm_real re, im;
} pair;

static rfm_real sine_real(uint32_t angle) { return (rfm_real)sine(angle) * (R(1) / R(SINE_ONE)); }

static inline pair turned_real(const rfm_real *x, rfm_real c, rfm_real s) {
    pair y;
    y.re = x[0] * c + x[1] * s, y.im = x[1] * c - x[0] * s;
    return y;
}

static void pass_of_four_real(uint32_t h, uint32_t length, rfm_real *x) {
    const uint32_t turn = turn_of(4 * length);
    uint32_t j, at;
    for (j = 0; j < length; j++) {
        rfm_real c1 = sine_real(j * turn + QUARTER), s1 = sine_real(j * turn);
        rfm_real c2 = sine_real(2 * j * turn + QUARTER), s2 = sine_real(2 * j * turn);
        rfm_real c3 = sine_real(3 * j * turn + QUARTER), s3 = sine_real(3 * j * turn);
        for (at = j; at < h; at += 4 * length) {
            rfm_real *p0 = x + 2 * at, *p1 = p0 + 2 * length, *p2 = p1 + 2 * length, *p3 = p2 + 2 * length;
            pair b = turned_real(p1, c2, s2), c = turned_real(p2, c1, s1), d = turned_real(p3, c3, s3), a, e;
            a.re = p0[0] - b.re, a.im = p0[1] - b.im;
            e.re = c.re - d.re, e.im = c.im - d.im;
            p1[0] = a.re + e.im, p1[1] = a.im - e.re;
            p3[0] = a.re - e.im, p3[1] = a.im + e.re;
            a.re = p0[0] + b.re, a.im = p0[1] + b.im;
            e.re = c.re + d.re, e.im = c.im + d.im;
            p0[0] = a.re + e.re, p0[1] = a.im + e.im;
            p2[0] = a.re - e.re, p2[1] = a.im - e.im;
        }
    }
}

static void transform(uint32_t h, rfm_real *x) {
    uint32_t i, length = 1, turn = turn_of(2 * h);
    rfm_real re, im;
    for (i = 1; i < h; i++) {
        uint32_t j = reversed(i, h);
        if (j <= i) continue;
        re = x[2 * i], im = x[2 * i + 1];
        x[2 * i] = x[2 * j], x[2 * i + 1] = x[2 * j + 1];
        x[2 * j] = re, x[2 * j + 1] = im;
    }
    for (i = h; i > 2; i >>= 2) {
    }
    if (i == 2)
        for (i = 0, length = 2; i < 2 * h; i += 4) {
            re = x[i + 2], im = x[i + 3];
            x[i + 2] = x[i] - re, x[i + 3] = x[i + 1] - im;
            x[i] += re, x[i + 1] += im;
        }
    for (; length < h; length *= 4) pass_of_four_real(h, length, x);
    re = x[0], im = x[1];
    x[0] = re + im, x[1] = re - im;
    for (i = 1; 2 * i <= h; i++) {
        rfm_real *p = x + 2 * i, *q = x + 2 * (h - i), odd[2];
        rfm_real even_re = (p[0] + q[0]) * R(0.5), even_im = (p[1] - q[1]) * R(0.5);
        pair t;
        odd[0] = (p[1] + q[1]) * R(0.5), odd[1] = (q[0] - p[0]) * R(0.5);
        t = turned_real(odd, sine_real(i * turn + QUARTER), sine_real(i * turn));
        p[0] = even_re + t.re, p[1] = even_im + t.im;
        q[0] = even_re - t.re, q[1] = t.im - even_im;
    }
}

int rfm_fft(size_t n, rfm_real *x) {
    if (x == NULL) return RFM_ENULL;
    if (!fft_length(n)) return RFM_EVALUE;
    if (!rfm_finite(n, x)) return RFM_EFINITE;
    transform((uint32_t)n / 2, x);
    return rfm_finite(n, x) ? RFM_OK : RFM_ERANGE;
}

/* ==== 4. What is computed ==================================================================== */

#define MAGIC       0x776d6672u /* "rfmw" */
#define VERSION     1
#define HEAD        28
#define REALS       1u /* flag: not integers */
#define WINDOW_MOST 32767
#define SECTION     10 /* bytes: b0, b1, b2, a1, a2 with 13 bits behind the point */
#define BANDS_MOST  64 /* under a cosine transform */

/* Words, in the order of their numbers. */
enum { MEAN, STD, LEAST, MOST, RMS, ENERGY, ZERO, CROSS, FFT, LOG, MEL, MFCC, WORDS };

static int signed_16(const unsigned char *at) { return (int)(int16_t)get_u16(at); }

/* A filter that can neither overflow nor grow: its poles are inside of the unit circle. */
static int section_right(const unsigned char *at) {
    int32_t sum = 0, a1 = signed_16(at + 6), a2 = signed_16(at + 8), i, c;
    for (i = 0; i < 5; i++) c = signed_16(at + 2 * i), sum += c < 0 ? -c : c;
    return sum <= 65535 && a2 < 8192 && (a1 < 0 ? -a1 : a1) < 8192 + a2;
}

/* Bytes of the word at `at`, of which `left` are there; 0: it is wrong. */
static size_t word_bytes(const unsigned char *at, size_t left, const rfm_signal *s) {
    uint32_t what, count, bands, i, bytes;
    if (left < 4) return 0;
    what = at[1], count = at[2], bands = at[3], bytes = 4;
    if (at[0] >= s->tracks || what >= WORDS || count == 0) return 0;
    if (what < FFT) return count == 1 && bands == 0 ? 4 : 0;
    bytes += 2 * (bands + 1);
    if (left < bytes || (s->window & (s->window - 1)) != 0) return 0;
    if (what == MFCC ? count > bands || bands > BANDS_MOST || (bands & (bands - 1)) != 0 || 4 * bands > s->window
                     : count != bands)
        return 0;
    for (i = 0; i < bands; i++)
        if (get_u16(at + 4 + 2 * i) >= get_u16(at + 6 + 2 * i)) return 0;
    return get_u16(at + 4) >= 1 && get_u16(at + 4 + 2 * bands) <= s->window / 2 + 1 ? bytes : 0;
}

/* What lies behind the head. */
static int check_parts(const unsigned char *b, uint32_t bytes, uint32_t name_bytes, rfm_signal *s) {
    size_t at = HEAD, i, n, sections = 0, features = 0, zeros = 0;
    int type = RFM_OK, track = 0;
    if (s->channels == 0 || s->channels > RFM_SIGNAL_MOST || s->tracks == 0 || s->tracks > RFM_SIGNAL_MOST ||
        s->window == 0 || s->window > WINDOW_MOST || s->step == 0 || s->features == 0 || s->words == 0)
        return RFM_ECONTENT;
    n = HEAD + s->channels + 2 * s->tracks + (size_t)SECTION * s->sections;
    if (n > bytes || name_bytes > bytes - n) return RFM_ECONTENT;
    s->exponents = (const int8_t *)(b + at), at += s->channels;
    s->track = b + at, at += 2 * s->tracks;
    s->section = b + at, at += (size_t)SECTION * s->sections;
    s->word = b + at;
    for (i = 0; i < s->channels; i++)
        if (!between(-126, s->exponents[i], 126)) return RFM_ECONTENT;
    for (i = 0; i < s->tracks; i++) {
        if (s->track[2 * i] >= s->channels) return RFM_ECONTENT;
        sections += s->track[2 * i + 1];
    }
    if (sections != s->sections) return RFM_ECONTENT;
    for (i = 0; i < sections; i++)
        if (!section_right(s->section + SECTION * i)) return RFM_ECONTENT;
    for (i = 0; i < s->words; i++) {
        n = word_bytes(b + at, bytes - name_bytes - at, s);
        if (n == 0 || b[at] < track) return RFM_ECONTENT;
        if (b[at + 1] >= FFT && s->window > RFM_SIGNAL_LONGEST) type = RFM_ETYPE;
        track = b[at], features += b[at + 2], at += n;
    }
    if (features != s->features || at + name_bytes != bytes) return RFM_ECONTENT;
    s->names = name_bytes > 0 ? (const char *)(b + at) : NULL;
    for (i = at; i < bytes; i++) zeros += b[i] == 0;
    if (name_bytes > 0 && (zeros != s->channels + s->tracks || b[bytes - 1] != 0)) return RFM_ECONTENT;
    return type;
}

int rfm_signal_open(const void *bytes, size_t size, rfm_signal *signal) {
    const unsigned char *b = (const unsigned char *)bytes;
    rfm_signal s;
    uint32_t length;
    int status;
    if (bytes == NULL || signal == NULL) return RFM_ENULL;
    status = check_blob(bytes, size, MAGIC, VERSION, HEAD, &length);
    if (status != RFM_OK && status != RFM_ETYPE) return status; /* bytes are read one by one, in any byte order */
    if (b[13] > REALS) return RFM_ECONTENT;
    s.reals = b[13], s.channels = b[14], s.tracks = b[15];
    s.window = get_u16(b + 16), s.step = get_u16(b + 18), s.words = get_u16(b + 20), s.features = get_u16(b + 22);
    s.sections = get_u16(b + 24);
    status = check_parts(b, length, get_u16(b + 26), &s);
    if (status == RFM_OK) *signal = s;
    return status;
}

/* ==== 5. Streams ============================================================================= */

#define STATE 5 /* numbers of a section: x1, x2, y1, y2, and what was cut off */

typedef struct {
    size_t capacity, state, work, bytes; /* where the parts begin, and the end */
} parts;

/* The one layout. */
static int layout(const rfm_signal *s, size_t slack, parts *p) {
    const size_t each = s->reals ? sizeof(rfm_real) : sizeof(int16_t);
    if (s->window == 0 || s->window > WINDOW_MOST || s->tracks == 0 || s->tracks > RFM_SIGNAL_MOST || slack > 65535 ||
        s->sections > 65535)
        return RFM_EVALUE;
    p->capacity = s->window + slack;
    p->state = p->capacity * s->tracks * each; /* below 2^26 */
    p->work = p->state + (size_t)STATE * s->sections * each;
    p->bytes = p->work + s->window * each;
    return RFM_OK;
}

int rfm_stream_need(const rfm_signal *signal, size_t slack, size_t *bytes) {
    parts p;
    int status;
    if (signal == NULL || bytes == NULL) return RFM_ENULL;
    status = layout(signal, slack, &p);
    if (status == RFM_OK) *bytes = p.bytes;
    return status;
}

int rfm_stream_init(rfm_stream *stream, const rfm_signal *signal, size_t slack, void *memory, size_t size) {
    unsigned char *at = (unsigned char *)memory;
    parts p;
    int status;
    if (stream == NULL || signal == NULL || memory == NULL) return RFM_ENULL;
    if ((uintptr_t)memory % RFM_ALIGN != 0) return RFM_EALIGN;
    status = layout(signal, slack, &p);
    if (status != RFM_OK) return status;
    if (size < p.bytes) return RFM_EARENA;
    memset(stream, 0, sizeof *stream);
    stream->signal = *signal, stream->capacity = (uint32_t)p.capacity;
    stream->ring = at, stream->state = at + p.state, stream->work = at + p.work;
    return RFM_OK;
}

int rfm_stream_reset(rfm_stream *s) {
    if (s == NULL) return RFM_ENULL;
    s->pushed = s->taken = s->at = s->from = s->phase = 0;
    s->started = 0;
    return RFM_OK;
}

/* Windows that are further apart than they are long leave samples out: `phase` counts the samples of a step then. */
static int wanted(const rfm_stream *s) { return s->phase < s->signal.window; }

static int full(const rfm_stream *s) { return s->pushed - load_acquire(&s->taken) >= s->capacity; }

/* The sample is in the ring, if it was wanted. */
static void pushed_one(rfm_stream *s) {
    int into = wanted(s);
    s->started = 1;
    if (s->signal.step > s->signal.window) s->phase = s->phase + 1 < s->signal.step ? s->phase + 1 : 0;
    if (!into) return;
    s->at = s->at + 1 < s->capacity ? s->at + 1 : 0;
    store_release(&s->pushed, s->pushed + 1);
}

/* What a filter gives for a constant x: nothing if its b have the sum 0, else x, as the compiler of specs makes
 * them. */
static int passes_constant(const unsigned char *c) { return signed_16(c) + signed_16(c + 2) + signed_16(c + 4) != 0; }

/* y = b0 x + b1 x1 + b2 x2 - a1 y1 - a2 y2. What is cut off goes into the next sum, so nothing of it is lost. */
static int32_t filter_i(const unsigned char *c, int16_t *state, int32_t x, int started) {
    int32_t sum, y;
    if (!started) {
        state[0] = state[1] = (int16_t)x;
        state[2] = state[3] = passes_constant(c) ? (int16_t)x : 0;
        state[4] = 0;
    }
    sum = signed_16(c) * x + signed_16(c + 2) * state[0] + signed_16(c + 4) * state[1] - signed_16(c + 6) * state[2] -
          signed_16(c + 8) * state[3] + state[4];
    y = sum >> 13;
    state[4] = (int16_t)(sum & 8191);
    if (y > 32767 || y < -32768) y = y > 0 ? 32767 : -32768, state[4] = 0;
    state[1] = state[0], state[0] = (int16_t)x;
    state[3] = state[2], state[2] = (int16_t)y;
    return y;
}

int rfm_stream_push_i(rfm_stream *s, const int16_t *x) {
    const unsigned char *c;
    int16_t *state, *ring;
    uint32_t t, i;
    if (s == NULL || x == NULL) return RFM_ENULL;
    if (s->signal.reals) return RFM_ETYPE;
    if (wanted(s) && full(s)) {
        s->lost++;
        return RFM_EARENA;
    }
    c = s->signal.section, state = (int16_t *)s->state, ring = (int16_t *)s->ring + s->at;
    for (t = 0; t < s->signal.tracks; t++, ring += s->capacity) {
        int32_t y = x[s->signal.track[2 * t]];
        for (i = s->signal.track[2 * t + 1]; i > 0; i--, c += SECTION, state += STATE)
            y = filter_i(c, state, y, s->started);
        if (wanted(s)) *ring = (int16_t)y;
    }
    pushed_one(s);
    return RFM_OK;
}

static rfm_real filter(const unsigned char *c, rfm_real *state, rfm_real x, int started) {
    rfm_real y;
    if (!started) {
        state[0] = state[1] = x;
        state[2] = state[3] = passes_constant(c) ? x : R(0);
    }
    y = R(signed_16(c)) * x + R(signed_16(c + 2)) * state[0] + R(signed_16(c + 4)) * state[1];
    y = (y - R(signed_16(c + 6)) * state[2] - R(signed_16(c + 8)) * state[3]) * (R(1) / R(8192));
    state[1] = state[0], state[0] = x;
    state[3] = state[2], state[2] = y;
    return y;
}

int rfm_stream_push(rfm_stream *s, const rfm_real *x) {
    const rfm_real most = R(1e12);
    const unsigned char *c;
    rfm_real *state, *ring;
    uint32_t t, i;
    if (s == NULL || x == NULL) return RFM_ENULL;
    if (!s->signal.reals) return RFM_ETYPE;
    if (!rfm_finite(s->signal.channels, x)) return RFM_EFINITE;
    for (i = 0; i < s->signal.channels; i++)
        if (x[i] > most || x[i] < -most) return RFM_ERANGE;
    if (wanted(s) && full(s)) {
        s->lost++;
        return RFM_EARENA;
    }
    c = s->signal.section, state = (rfm_real *)s->state, ring = (rfm_real *)s->ring + s->at;
    for (t = 0; t < s->signal.tracks; t++, ring += s->capacity) {
        rfm_real y = x[s->signal.track[2 * t]];
        for (i = s->signal.track[2 * t + 1]; i > 0; i--, c += SECTION, state += STATE)
            y = filter(c, state, y, s->started);
        if (wanted(s)) *ring = y;
    }
    pushed_one(s);
    return RFM_OK;
}

int rfm_stream_ready(const rfm_stream *s) {
    return s != NULL && load_acquire(&s->pushed) - s->taken >= s->signal.window;
}

/* Gives the samples free that no later window has. */
static void taken_one(rfm_stream *s) {
    uint32_t gone = s->signal.step < s->signal.window ? s->signal.step : s->signal.window;
    s->from += gone;
    if (s->from >= s->capacity) s->from -= s->capacity;
    store_release(&s->taken, s->taken + gone);
}

/* The window of track t. */
static void copy_window(const rfm_stream *s, uint32_t t, size_t each) {
    const unsigned char *ring = (const unsigned char *)s->ring + (size_t)t * s->capacity * each;
    uint32_t first = s->capacity - s->from;
    if (first > s->signal.window) first = s->signal.window;
    memcpy(s->work, ring + s->from * each, first * each);
    memcpy((unsigned char *)s->work + first * each, ring, (s->signal.window - first) * each);
}

/* ==== 6. Features ============================================================================ */

/* The words of one track. */
typedef struct {
    const unsigned char *first, *end;
    uint32_t wants; /* bit i: word i is there */
    uint32_t left;  /* words behind them, of other tracks */
} word_list;

static size_t bytes_of_word(const unsigned char *word) { return word[1] < FFT ? 4 : 6 + 2 * (size_t)word[3]; }

/* Those of track t, if any; `words` is at them. */
static void words_of_track(uint32_t t, word_list *words) {
    words->first = words->end, words->wants = 0;
    for (; words->left > 0 && words->end[0] == t; words->left--) {
        words->wants |= 1u << words->end[1];
        words->end += bytes_of_word(words->end);
    }
}

#define OF(word) (1u << (word))
#define SPECTRUM (OF(FFT) | OF(LOG) | OF(MEL) | OF(MFCC))
#define SQUARES  (OF(RMS) | OF(ENERGY))
#define ABOUT    (OF(STD) | OF(CROSS)) /* about the mean */

/* ---- integers ---- */

typedef struct {
    int32_t value[FFT]; /* of each word that is one number */
    int exponent;       /* of power, (2 / W)^2 |X|^2, in the spectrum */
} summary_i;

/* sum / W, rounded, halves up. */
static int32_t mean_i(int32_t sum, uint32_t window) {
    wide all = {0, 0};
    all.low = (uint32_t)(sum + (int32_t)(window << 15) + (int32_t)(window / 2));
    return (int32_t)quotient(all, window) - 32768;
}

/* squares / W = result 2^*exponent, the exponent even and not above 0. A mean below 2^32 has high < W. */
static wide mean_square(wide squares, uint32_t window, int *exponent) {
    wide mean = {0, 0};
    for (*exponent = 0; (squares.high << 2 | squares.low >> 30) < window && *exponent > -30; *exponent -= 2)
        squares.high = squares.high << 2 | squares.low >> 30, squares.low <<= 2;
    mean.low = quotient(squares, window);
    return mean;
}

static void summarize_i(const int16_t *x, uint32_t window, uint32_t wants, summary_i *s) {
    int32_t sum = 0, least = x[0], most = x[0], before = x[0], zero = 0, mean;
    wide squares = {0, 0};
    int exponent;
    uint32_t i;
    for (i = 0; i < window; i++) {
        int32_t v = x[i];
        sum += v;
        if (v < least) least = v;
        if (v > most) most = v;
        zero += (v ^ before) < 0;
        before = v;
        if (wants & SQUARES) wide_add(&squares, (uint32_t)(v * v));
    }
    s->value[LEAST] = least, s->value[MOST] = most, s->value[ZERO] = zero;
    s->value[MEAN] = mean = mean_i(sum, window);
    if (wants & SQUARES) {
        squares = mean_square(squares, window, &exponent);
        s->value[RMS] = root_of(squares, exponent), s->value[ENERGY] = log_of(squares, exponent);
    }
    if (!(wants & ABOUT)) return;
    squares.high = squares.low = 0, zero = 0, before = x[0] - mean;
    for (i = 0; i < window; i++) {
        int32_t v = x[i] - mean;
        zero += (v ^ before) < 0;
        before = v;
        wide_add(&squares, (uint32_t)v * (uint32_t)v);
    }
    s->value[CROSS] = zero;
    squares = mean_square(squares, window, &exponent);
    s->value[STD] = root_of(squares, exponent);
}

/* x - mean, weighed by the window, with all of the 16 bits; then its transform. */
static void spectrum_i(int16_t *x, uint32_t window, summary_i *s) {
    const uint32_t turn = turn_of(window);
    const int32_t mean = s->value[MEAN];
    int32_t above_mean = s->value[MOST] - mean, below_mean = mean - s->value[LEAST];
    const int bits = bits_of((uint32_t)(above_mean > below_mean ? above_mean : below_mean));
    uint32_t i;
    for (i = 0; i < window; i++) {
        int32_t hann = (32768 - cosine_15(i * turn)) >> 1;
        int32_t v = (x[i] - mean) * hann;
        if (bits > 0) v = ((v >> (bits - 1)) + 1) >> 1;
        x[i] = (int16_t)(v < -32767 ? -32767 : v > 32767 ? 32767 : v);
    }
    s->exponent = 2 * (transform_i(window / 2, x) + bits - 15 + 2 - bits_of(window)); /* W = 2^(bits - 1) */
}

/* Of the bins from `first` to before `end`. */
static wide power_i(const int16_t *x, uint32_t window, uint32_t first, uint32_t end) {
    wide sum = {0, 0};
    uint32_t k;
    for (k = first; k < end; k++) {
        int32_t re = 2 * k == window ? x[1] : x[2 * k], im = 2 * k == window ? 0 : x[2 * k + 1];
        wide_add(&sum, (uint32_t)(re * re) + (uint32_t)(im * im));
    }
    return sum;
}

/* c_j = sum_b log_b cos(pi j (b + 1/2) / B) / B. */
static int16_t cosines_i(const int16_t *logs, uint32_t bands, uint32_t j) {
    const uint32_t turn = turn_of(4 * bands);
    const int shift = 8 + bits_of(bands) - 1;
    int32_t sum = (int32_t)1 << (shift - 1);
    uint32_t b;
    for (b = 0; b < bands; b++) sum += logs[b] * ((cosine_15(j * (2 * b + 1) * turn) + 1) >> 1) >> 6;
    return (int16_t)(sum >> shift);
}

static int16_t *bands_i(const int16_t *x, uint32_t window, const unsigned char *word, int exponent, int16_t *to) {
    int16_t logs[BANDS_MOST];
    uint32_t b, bands = word[3];
    for (b = 0; b < bands; b++) {
        wide power = power_i(x, window, get_u16(word + 4 + 2 * b), get_u16(word + 6 + 2 * b));
        if (word[1] == FFT)
            *to++ = root_of(power, exponent);
        else if (word[1] != MFCC)
            *to++ = log_of(power, exponent);
        else
            logs[b] = log_of(power, exponent);
    }
    for (b = 0; word[1] == MFCC && b < word[2]; b++) *to++ = cosines_i(logs, bands, b);
    return to;
}

int rfm_stream_take_i(rfm_stream *s, int16_t *features) {
    const uint32_t window = s == NULL ? 0 : s->signal.window;
    const unsigned char *word;
    word_list words;
    summary_i sum;
    uint32_t t;
    if (s == NULL || features == NULL) return RFM_ENULL;
    if (s->signal.reals) return RFM_ETYPE;
    if (!rfm_stream_ready(s)) return RFM_EEMPTY;
    words.end = s->signal.word, words.left = s->signal.words;
    for (t = 0; t < s->signal.tracks; t++) {
        words_of_track(t, &words);
        if (words.wants == 0) continue;
        copy_window(s, t, sizeof(int16_t));
        summarize_i((const int16_t *)s->work, window, words.wants, &sum);
        sum.exponent = 0;
        if (words.wants & SPECTRUM) spectrum_i((int16_t *)s->work, window, &sum);
        for (word = words.first; word < words.end; word += bytes_of_word(word))
            if (word[1] < FFT)
                *features++ = (int16_t)sum.value[word[1]];
            else
                features = bands_i((const int16_t *)s->work, window, word, sum.exponent, features);
    }
    taken_one(s);
    return RFM_OK;
}

/* ---- reals ---- */

static void summarize(const rfm_real *x, uint32_t window, rfm_real *value) {
    rfm_real sum = R(0), squares = R(0), least = x[0], most = x[0], mean, zero = R(0), rest = R(0);
    uint32_t i;
    for (i = 0; i < window; i++) {
        sum += x[i], squares += x[i] * x[i];
        if (x[i] < least) least = x[i];
        if (x[i] > most) most = x[i];
        if (i > 0 && (x[i] < R(0)) != (x[i - 1] < R(0))) zero += R(1);
    }
    mean = sum / (rfm_real)window;
    for (i = 0; i < window; i++) rest += x[i] - mean;
    mean += rest / (rfm_real)window; /* what the rounding of the sum has left */
    value[MEAN] = mean, value[LEAST] = least, value[MOST] = most, value[ZERO] = zero;
    squares = squares / (rfm_real)window;
    value[RMS] = rfm_sqrt(squares), value[ENERGY] = R(1024) * log2_real(R(1) + squares);
    squares = R(0), zero = R(0);
    for (i = 0; i < window; i++) {
        squares += (x[i] - mean) * (x[i] - mean);
        if (i > 0 && (x[i] < mean) != (x[i - 1] < mean)) zero += R(1);
    }
    value[STD] = rfm_sqrt(squares / (rfm_real)window), value[CROSS] = zero;
}

static void spectrum(rfm_real *x, uint32_t window, rfm_real mean) {
    const uint32_t turn = turn_of(window);
    uint32_t i;
    for (i = 0; i < window; i++) x[i] = (x[i] - mean) * (R(0.5) - R(0.5) * sine_real(i * turn + QUARTER));
    transform(window / 2, x);
}

static rfm_real band_power(const rfm_real *x, uint32_t window, const unsigned char *edges) {
    const rfm_real unit = R(2) / (rfm_real)window;
    rfm_real sum = R(0), re, im;
    uint32_t k;
    for (k = get_u16(edges); k < get_u16(edges + 2); k++) {
        re = (2 * k == window ? x[1] : x[2 * k]) * unit;
        im = 2 * k == window ? R(0) : x[2 * k + 1] * unit;
        sum += re * re + im * im;
    }
    return sum;
}

static rfm_real *bands_of(const rfm_real *x, uint32_t window, const unsigned char *word, rfm_real *to) {
    rfm_real logs[BANDS_MOST];
    uint32_t b, j, bands = word[3];
    for (b = 0; b < bands; b++) {
        rfm_real power = band_power(x, window, word + 4 + 2 * b);
        rfm_real log = word[1] == FFT ? rfm_sqrt(power) : R(1024) * log2_real(R(1) + power);
        if (word[1] == MFCC)
            logs[b] = log;
        else
            *to++ = log;
    }
    for (j = 0; word[1] == MFCC && j < word[2]; j++) {
        rfm_real sum = R(0);
        for (b = 0; b < bands; b++) sum += logs[b] * sine_real(j * (2 * b + 1) * turn_of(4 * bands) + QUARTER);
        *to++ = sum / (rfm_real)bands;
    }
    return to;
}

int rfm_stream_take(rfm_stream *s, rfm_real *features) {
    const uint32_t window = s == NULL ? 0 : s->signal.window;
    const unsigned char *word;
    word_list words;
    rfm_real value[FFT], *to = features;
    uint32_t t;
    if (s == NULL || features == NULL) return RFM_ENULL;
    if (!s->signal.reals) return RFM_ETYPE;
    if (!rfm_stream_ready(s)) return RFM_EEMPTY;
    words.end = s->signal.word, words.left = s->signal.words;
    for (t = 0; t < s->signal.tracks; t++) {
        words_of_track(t, &words);
        if (words.wants == 0) continue;
        copy_window(s, t, sizeof(rfm_real));
        summarize((const rfm_real *)s->work, window, value);
        if (words.wants & SPECTRUM) spectrum((rfm_real *)s->work, window, value[MEAN]);
        for (word = words.first; word < words.end; word += bytes_of_word(word))
            if (word[1] < FFT)
                *to++ = value[word[1]];
            else
                to = bands_of((const rfm_real *)s->work, window, word, to);
    }
    taken_one(s);
    return rfm_finite(s->signal.features, features) ? RFM_OK : RFM_ERANGE;
}

int rfm_signal_inputs(size_t count, const int16_t *features, const uint16_t *index, const int8_t *exponents,
                      int16_t *x) {
    size_t j;
    if (features == NULL || x == NULL) return RFM_ENULL;
    for (j = 0; j < count; j++) {
        int32_t v = features[index != NULL ? index[j] : j], e = exponents != NULL ? exponents[j] : 0;
        uint32_t size = (uint32_t)(v < 0 ? -v : v);
        if (e >= 0)
            size = e > 15 && size > 0 ? 32768 : size << (e > 15 ? 0 : e);
        else
            size = e < -16 ? 0 : ((size >> (-e - 1)) + 1) >> 1;
        if (v < 0)
            x[j] = (int16_t)(size < 32768 ? -(int32_t)size : -32768);
        else
            x[j] = most_16(size);
    }
    return RFM_OK;
}

#ifndef RFM_NO_TRAIN

/* ==== 7. Specs =============================================================================== */

static const char *const word_names[WORDS] = {"mean", "std",   "min", "max", "rms", "energy",
                                              "zero", "cross", "fft", "log", "mel", "mfcc"};

#define FILTERS_MOST 4  /* words of a group; a band has two sections */
#define WORDS_MOST   64 /* of a track */

/* A part of the text. */
typedef struct {
    const char *at, *end;
} piece;

/* channels : words */
typedef struct {
    piece channels, words;
} group;

/* A channel behind its filters, and where the words of these are in the text. */
typedef struct {
    size_t channel; /* of those that may be named */
    int sections;
    int16_t c[2 * FILTERS_MOST][5];
    piece filters[FILTERS_MOST];
    int filter_count;
} track;

typedef struct {
    const char *spec;
    const rfm_signal_options *o;
    rfm_signal_fault *fault;
    track tracks[RFM_SIGNAL_MOST];
    size_t track_count, channel_count;
    size_t channels[RFM_SIGNAL_MOST]; /* in the order in which they are named */
    unsigned char *bytes;             /* NULL: only counts */
    size_t used, room;
    size_t words, features;
    size_t number;                     /* of the track whose words are being written ... */
    unsigned char seen[WORDS_MOST][3]; /* ... and those that are: what, count, bands */
    size_t seen_count;
} compiler;

static int wrong(compiler *c, piece p, const char *why) {
    c->fault->at = (size_t)(p.at - c->spec), c->fault->length = (size_t)(p.end - p.at), c->fault->why = why;
    return RFM_EVALUE;
}

static int is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static piece trimmed(piece p) {
    while (p.at < p.end && is_space(*p.at)) p.at++;
    while (p.end > p.at && is_space(p.end[-1])) p.end--;
    return p;
}

/* What is left of *rest up to the next `mark`; 0: nothing is left. */
static int cut(piece *rest, char mark, piece *part) {
    if (rest->at > rest->end) return 0;
    part->at = part->end = rest->at;
    while (part->end < rest->end && *part->end != mark) part->end++;
    rest->at = part->end + 1;
    *part = trimmed(*part);
    return 1;
}

/* The next word between spaces. */
static int next_word(piece *rest, piece *word) {
    *rest = trimmed(*rest);
    *word = *rest;
    word->end = word->at;
    while (word->end < rest->end && !is_space(*word->end)) word->end++;
    rest->at = word->end;
    return word->at < word->end;
}

/* The next group that is not empty: 1, 0 at the end, or a status. */
static int next_group(compiler *c, piece *rest, group *g) {
    piece all;
    const char *colon;
    while (cut(rest, ';', &all)) {
        if (all.at == all.end) continue;
        for (colon = all.at; colon < all.end && *colon != ':'; colon++) {
        }
        if (colon == all.end) return wrong(c, all, "expected CHANNEL: WORDS");
        g->channels.at = all.at, g->channels.end = colon, g->words.at = colon + 1, g->words.end = all.end;
        g->channels = trimmed(g->channels), g->words = trimmed(g->words);
        all.end = colon + 1;
        if (g->channels.at == g->channels.end) return wrong(c, all, "expected a channel before the colon");
        if (g->words.at == g->words.end) return wrong(c, all, "expected words behind the colon");
        return 1;
    }
    return 0;
}

static int same(piece p, const char *name) {
    size_t n = (size_t)(p.end - p.at);
    return strlen(name) == n && memcmp(p.at, name, n) == 0;
}

/* The channel of a name, or o->channels. */
static size_t channel_of(const rfm_signal_options *o, piece name) {
    const char *at = o->names;
    size_t i;
    for (i = 0; i < o->channels && !same(name, at); i++) at += strlen(at) + 1;
    return i;
}

/* A decimal number at *at, which moves behind it; negative: there is none. */
static rfm_real decimal(const char **at, const char *end) {
    rfm_real value = R(0), unit = R(1);
    const char *start = *at;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at) value = value * R(10) + R(**at - '0');
    if (*at == start) return R(-1);
    if (*at < end && **at == '.')
        for (++*at; *at < end && **at >= '0' && **at <= '9'; ++*at) unit *= R(0.1), value += R(**at - '0') * unit;
    return value;
}

/* A whole number, at most 9999; negative: there is none. */
static int whole(const char **at, const char *end) {
    const char *start = *at;
    int value = 0;
    for (; *at < end && **at >= '0' && **at <= '9' && value <= 999; ++*at) value = 10 * value + (**at - '0');
    return *at == start ? -1 : value;
}

/* Does the word begin so, and go on with a digit? Then *at is behind the beginning. */
static int begins(piece word, const char *name, const char **at) {
    size_t n = strlen(name);
    *at = word.at + n;
    return (size_t)(word.end - word.at) > n && memcmp(word.at, name, n) == 0 && **at >= '0' && **at <= '9';
}

/* Butterworth of second order at the frequency f, by the bilinear transform. With the rounded a, b are chosen so that a
 * constant passes (low) or nothing of it (high). */
static void butterworth(rfm_real f, int high, int16_t c[5]) {
    rfm_real k = RFM_MATH(tan)(R(3.14159265358979) * f), norm = R(8192) / (R(1) + R(1.4142135623731) * k + k * k);
    int a1 = (int)RFM_MATH(floor)(R(2) * (k * k - R(1)) * norm + R(0.5));
    int a2 = (int)RFM_MATH(floor)((R(1) - R(1.4142135623731) * k + k * k) * norm + R(0.5));
    int sum = high ? 8192 - a1 + a2 : 8192 + a1 + a2, b = (sum + 2) / 4;
    c[0] = c[2] = (int16_t)b, c[1] = (int16_t)(high ? -2 * b : sum - 2 * b);
    c[3] = (int16_t)a1, c[4] = (int16_t)a2;
}

/* 1: the word is a filter, whose sections are added to the track; 0: it is not; or a status. */
static int filter_word(compiler *c, piece word, track *t) {
    const rfm_real scale = c->o->rate > R(0) ? R(1) / c->o->rate : R(1);
    const char *at;
    int high, both = begins(word, "band", &at), first = t->sections;
    rfm_real f;
    high = both || begins(word, "high", &at);
    if (!high && !begins(word, "low", &at)) return 0;
    if (t->filter_count == FILTERS_MOST) return wrong(c, word, "more than four filters");
    do {
        f = decimal(&at, word.end) * scale;
        if (!(f >= R(0.005) && f <= R(0.495)))
            return wrong(c, word, "expected a frequency from 0.005 to 0.495 of the sampling rate");
        butterworth(f, t->sections == first && high, t->c[t->sections]);
        t->sections++;
    } while (both && t->sections == first + 1 && at < word.end && *at++ == '-');
    if (at != word.end || t->sections - first != (both ? 2 : 1))
        return wrong(c, word, both ? "expected bandF-G" : "expected a number and nothing behind it");
    t->filters[t->filter_count++] = word;
    return 1;
}

/* The filters of a group. */
static int group_filters(compiler *c, const group *g, track *t) {
    piece rest = g->words, word;
    int status;
    t->sections = t->filter_count = 0;
    while (next_word(&rest, &word)) {
        status = filter_word(c, word, t);
        if (status < 0) return status;
    }
    return RFM_OK;
}

static int same_track(const track *a, const track *b) {
    return a->channel == b->channel && a->sections == b->sections &&
           memcmp(a->c, b->c, (size_t)a->sections * sizeof a->c[0]) == 0;
}

/* Calls `use` for every track that a group names. `t` has the group's filters. */
static int each_track(compiler *c, const group *g, track *t,
                      int (*use)(compiler *, const group *, const track *, piece)) {
    piece rest = g->channels, name;
    int status = RFM_OK;
    while (status == RFM_OK && cut(&rest, ',', &name)) {
        size_t first = channel_of(c->o, name), end = first + 1;
        if (first == c->o->channels) {
            if (!same(name, "*")) return wrong(c, name, "no such channel");
            first = 0, end = c->o->channels;
        }
        for (; status == RFM_OK && first < end; first++) {
            t->channel = first;
            status = use(c, g, t, name);
        }
    }
    return status;
}

static int add_track(compiler *c, const group *g, const track *t, piece name) {
    size_t i;
    (void)g;
    for (i = 0; i < c->track_count; i++)
        if (same_track(&c->tracks[i], t)) return RFM_OK;
    if (c->track_count == RFM_SIGNAL_MOST) return wrong(c, name, "more than 64 channels and filtered channels");
    c->tracks[c->track_count++] = *t;
    for (i = 0; i < c->channel_count && c->channels[i] != t->channel; i++) {
    }
    if (i == c->channel_count) c->channels[c->channel_count++] = t->channel;
    return RFM_OK;
}

/* ---- bytes ---- */

static void put_8(compiler *c, unsigned value) {
    if (c->bytes != NULL && c->used < c->room) c->bytes[c->used] = (unsigned char)value;
    c->used++;
}

static void put_16(compiler *c, unsigned value) {
    put_8(c, value & 255u);
    put_8(c, value >> 8 & 255u);
}

static void put_text(compiler *c, const char *at, size_t n) {
    for (; n > 0; n--) put_8(c, (unsigned char)*at++);
}

/* The first bin of band b of B, out of `bins` from 1 on; of band B: the end. On the mel scale of log(1 + k / corner),
 * with a bin for every band. */
static void put_edges(compiler *c, int mel, unsigned bands, unsigned bins) {
    const rfm_real window = R(2) * (rfm_real)bins, rate = c->o->rate > R(0) ? c->o->rate : R(16000);
    const rfm_real corner = R(700) / rate * window;
    const rfm_real low = RFM_MATH(log)(R(1) + R(1) / corner),
                   high = RFM_MATH(log)(R(1) + (rfm_real)(bins + 1) / corner);
    unsigned b, edge, before = 0;
    for (b = 0; b <= bands; b++) {
        rfm_real part = low + (high - low) * (rfm_real)b / (rfm_real)bands;
        edge = mel ? (unsigned)(corner * (RFM_MATH(exp)(part) - R(1)) + R(0.5)) : 1 + b * bins / bands;
        if (edge <= before) edge = before + 1;
        if (edge > bins + 1 - (bands - b)) edge = bins + 1 - (bands - b);
        put_16(c, edge);
        before = edge;
    }
}

static int power_of_two_above(int n) {
    int p = 4;
    while (p < n) p *= 2;
    return p;
}

/* A word that is a feature. */
static int feature_word(compiler *c, piece word) {
    const int window = (int)c->o->window;
    const char *at = NULL;
    int what, count = 1, bands = 0;
    size_t i;
    for (what = 0; what < WORDS; what++)
        if (what < FFT ? same(word, word_names[what]) : begins(word, word_names[what], &at)) break;
    if (what == WORDS) return wrong(c, word, "unknown word");
    if (what >= FFT) {
        count = bands = whole(&at, word.end);
        if (what == MFCC) bands = power_of_two_above(2 * count);
        while (what == MFCC && 4 * bands > window && bands > 4 && bands / 2 >= count) bands /= 2;
        if (what == MFCC && at < word.end && *at == '/') at++, bands = whole(&at, word.end);
        if (at != word.end) return wrong(c, word, "expected a number and nothing behind it");
        if ((window & (window - 1)) != 0) return wrong(c, word, "a spectrum needs a window that is a power of two");
        if (window < 4 || window > RFM_SIGNAL_LONGEST) return wrong(c, word, "a spectrum needs a window of 4 to 4096");
        if (count < 1) return wrong(c, word, "expected at least 1");
        if (what == MFCC && (bands < 4 || (bands & (bands - 1)) != 0 || 4 * bands > window || bands > BANDS_MOST))
            return wrong(c, word, "expected a power of two of bands, 4 to a quarter of the window, at most 64");
        if (count > bands) return wrong(c, word, "more numbers than bands");
        if (bands > 255 || bands > window / 2) return wrong(c, word, "more bands than half of the window, or than 255");
    }
    for (i = 0; i < c->seen_count; i++)
        if (c->seen[i][0] == what && c->seen[i][1] == count && c->seen[i][2] == bands)
            return wrong(c, word, "twice for the same channel");
    if (i == WORDS_MOST) return wrong(c, word, "more than 64 words of a channel");
    c->seen[i][0] = (unsigned char)what, c->seen[i][1] = (unsigned char)count, c->seen[i][2] = (unsigned char)bands;
    c->seen_count++, c->words++, c->features += (size_t)count;
    put_8(c, (unsigned)c->number), put_8(c, (unsigned)what), put_8(c, (unsigned)count), put_8(c, (unsigned)bands);
    if (what >= FFT) put_edges(c, what >= MEL, (unsigned)bands, (unsigned)window / 2);
    return RFM_OK;
}

/* The words of a group, if it names the track that is being written. */
static int put_words(compiler *c, const group *g, const track *t, piece name) {
    piece rest = g->words, word;
    track filters;
    int status = RFM_OK;
    size_t before = c->words;
    (void)name;
    if (!same_track(&c->tracks[c->number], t)) return RFM_OK;
    while (status == RFM_OK && next_word(&rest, &word)) {
        filters.sections = filters.filter_count = 0;
        if (filter_word(c, word, &filters) == 0) status = feature_word(c, word);
    }
    if (status == RFM_OK && c->words == before) return wrong(c, g->words, "expected a feature beside the filters");
    return status;
}

static int each_group(compiler *c, int (*use)(compiler *, const group *, const track *, piece)) {
    piece rest;
    group g;
    track t;
    int status;
    rest.at = c->spec, rest.end = c->spec + strlen(c->spec);
    memset(&t, 0, sizeof t);
    while ((status = next_group(c, &rest, &g)) == 1) {
        status = group_filters(c, &g, &t);
        if (status == RFM_OK) status = each_track(c, &g, &t, use);
        if (status != RFM_OK) return status;
    }
    return status;
}

/* acc_x, acc_x_low10 */
static void put_track_name(compiler *c, const track *t) {
    const char *name = rfm_name(c->o->names, t->channel);
    int i;
    put_text(c, name, strlen(name));
    for (i = 0; i < t->filter_count; i++) {
        put_8(c, '_');
        put_text(c, t->filters[i].at, (size_t)(t->filters[i].end - t->filters[i].at));
    }
    put_8(c, 0);
}

static void put_tracks(compiler *c) {
    size_t i, j;
    int s;
    for (i = 0; i < c->channel_count; i++)
        put_8(c, c->o->exponents != NULL ? (unsigned char)c->o->exponents[c->channels[i]] : 0);
    for (i = 0; i < c->track_count; i++) {
        for (j = 0; c->channels[j] != c->tracks[i].channel; j++) {
        }
        put_8(c, (unsigned)j), put_8(c, (unsigned)c->tracks[i].sections);
    }
    for (i = 0; i < c->track_count; i++)
        for (s = 0; s < c->tracks[i].sections; s++)
            for (j = 0; j < 5; j++) put_16(c, (uint16_t)c->tracks[i].c[s][j]);
}

static size_t put_names(compiler *c) {
    size_t i, before = c->used;
    for (i = 0; i < c->channel_count; i++) {
        const char *name = rfm_name(c->o->names, c->channels[i]);
        put_text(c, name, strlen(name) + 1);
    }
    for (i = 0; i < c->track_count; i++) put_track_name(c, &c->tracks[i]);
    return c->used - before;
}

static void seal(unsigned char *b, size_t bytes) {
    rfm_put_u32(b + 8, (uint32_t)bytes);
    rfm_put_u32(b + 4, rfm_crc32(0, b + COVERED, bytes - COVERED));
}

static int compile(compiler *c) {
    piece all;
    size_t names, sections = 0, end;
    int status = each_group(c, add_track);
    all.at = c->spec, all.end = c->spec + strlen(c->spec);
    if (status == RFM_OK && c->track_count == 0) return wrong(c, all, "the spec is empty");
    if (status != RFM_OK) return status;
    c->used = HEAD;
    put_tracks(c);
    for (c->number = 0; c->number < c->track_count; c->number++) {
        c->seen_count = 0;
        status = each_group(c, put_words);
        if (status != RFM_OK) return status;
        sections += (size_t)c->tracks[c->number].sections;
    }
    names = put_names(c), end = c->used;
    if (names > 65535) return wrong(c, all, "names of more than 65535 bytes");
    if (c->bytes == NULL || end > c->room) return c->bytes == NULL ? RFM_OK : RFM_EARENA;
    c->used = 0;
    put_text(c, "rfmw\0\0\0\0\0\0\0\0", COVERED + 4);
    put_8(c, VERSION), put_8(c, c->o->reals != 0 ? REALS : 0);
    put_8(c, (unsigned)c->channel_count), put_8(c, (unsigned)c->track_count);
    put_16(c, (unsigned)c->o->window), put_16(c, (unsigned)c->o->step);
    put_16(c, (unsigned)c->words), put_16(c, (unsigned)c->features);
    put_16(c, (unsigned)sections), put_16(c, (unsigned)names);
    c->used = end;
    seal(c->bytes, end);
    return RFM_OK;
}

static int check_options(const rfm_signal_options *o) {
    size_t i;
    if (o->names == NULL) return RFM_ENULL;
    if (o->window == 0 || o->step == 0 || o->channels == 0) return RFM_EZERO;
    if (o->window > WINDOW_MOST || o->step > 65535 || o->channels > 65535) return RFM_EVALUE;
    if (!rfm_finite(1, &o->rate) || o->rate < R(0)) return RFM_EVALUE;
    for (i = 0; o->exponents != NULL && i < o->channels; i++)
        if (!between(-126, o->exponents[i], 126)) return RFM_EVALUE;
    return RFM_OK;
}

int rfm_signal_compile(const char *spec, const rfm_signal_options *options, void *bytes, size_t room, size_t *size,
                       rfm_signal_fault *fault) {
    compiler c;
    int status;
    if (spec == NULL || options == NULL || size == NULL || fault == NULL) return RFM_ENULL;
    fault->at = fault->length = 0, fault->why = "an option is outside its range";
    status = check_options(options);
    if (status != RFM_OK) return status;
    memset(&c, 0, sizeof c);
    c.spec = spec, c.o = options, c.fault = fault;
    status = compile(&c); /* counts, and finds what is wrong */
    if (status != RFM_OK || bytes == NULL) {
        if (status == RFM_OK) *size = c.used;
        return status;
    }
    if (c.used > room) return RFM_EARENA;
    memset(&c, 0, sizeof c);
    c.spec = spec, c.o = options, c.fault = fault, c.bytes = (unsigned char *)bytes, c.room = room;
    status = compile(&c);
    if (status == RFM_OK) *size = c.used;
    return status;
}

/* Text behind what is there, as far as there is room. */
static void append(char *name, size_t room, const char *more) {
    size_t used = strlen(name);
    while (*more != 0 && used + 1 < room) name[used++] = *more++;
    name[used] = 0;
}

static void append_number(char *name, size_t room, unsigned value) {
    char digits[8], *at = digits + sizeof digits - 1;
    *at = 0;
    do *--at = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    append(name, room, at);
}

int rfm_signal_name(const rfm_signal *s, size_t feature, char *name, size_t room) {
    const unsigned char *word;
    if (s == NULL || name == NULL) return RFM_ENULL;
    if (feature >= s->features || s->names == NULL || room == 0) return RFM_EVALUE;
    for (word = s->word; feature >= word[2]; word += bytes_of_word(word)) feature -= word[2];
    name[0] = 0;
    append(name, room, rfm_name(s->names, s->channels + word[0]));
    append(name, room, "_");
    append(name, room, word_names[word[1]]);
    if (word[1] < FFT) return RFM_OK;
    append_number(name, room, word[2]);
    if (word[1] == MFCC) append(name, room, "/"), append_number(name, room, word[3]);
    append(name, room, "_");
    append_number(name, room, (unsigned)feature + 1);
    return RFM_OK;
}

int rfm_signal_strip(void *bytes, size_t *size) {
    unsigned char *b = (unsigned char *)bytes;
    rfm_signal s;
    int status;
    size_t left;
    if (bytes == NULL || size == NULL) return RFM_ENULL;
    status = rfm_signal_open(bytes, *size, &s);
    if (status != RFM_OK) return status;
    left = rfm_get_u32(b + 8) - get_u16(b + 26);
    b[26] = b[27] = 0;
    seal(b, left);
    *size = left;
    return RFM_OK;
}

#endif /* RFM_NO_TRAIN */
