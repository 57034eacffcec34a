BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE api_key (
	token_sha256 BLOB NOT NULL, 
	requester_id BLOB NOT NULL, 
	PRIMARY KEY (token_sha256), 
	FOREIGN KEY(requester_id) REFERENCES requester (id) ON DELETE CASCADE
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "api_key" VALUES(X'CCF434F0DD4909DB0CACBFADC38DE6965C7474CEE989681FD58B5AC13CC1A546',X'CB16C25DF57D233A9E81049F1C048BC3');
CREATE TABLE campaign (
	id BLOB NOT NULL, 
	requester_id BLOB NOT NULL, 
	state TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	title TEXT NOT NULL, 
	description TEXT NOT NULL, 
	mechanism TEXT NOT NULL, 
	method TEXT, 
	join_mode TEXT NOT NULL, 
	answers_per_participant INTEGER, 
	max_participants INTEGER, 
	config TEXT, 
	config_hash BLOB, 
	erasures INTEGER NOT NULL, 
	invites_used INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(requester_id) REFERENCES requester (id) ON DELETE CASCADE
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "campaign" VALUES(X'108BE5EFFBB38B4F0EB719FE2CF08A7C',X'CB16C25DF57D233A9E81049F1C048BC3','open',3,'Birds','','{"domain":{"kind":"ordinal","levels":[1,2,3,4,5]},"epsilon":4,"fill":"midpoint","grid_step":0.00390625,"learning_rate":null,"max_steps":100000,"mechanism":"matrix-factorization","noise_scale":4294967296,"profile":"gaussian","rank":2,"ridge":1,"seed":0,"step":null,"steps":1024,"variant":"fill","version":1}',NULL,'open',NULL,9,'{"answers_per_participant":3,"campaign":"108be5effbb38b4f0eb719fe2cf08a7c","channel":{"centre":512,"grid":{"high":5,"low":1,"step":0.00390625,"steps":1024},"kind":"sketch","moments_epsilon":0,"noise_scale":4294967296,"noise_unit":5.960464477539063e-8,"profile":{"kind":"gaussian","rank":2,"seed":0}},"consent":["About one answer, for somebody who knows all your others: whoever thought it as likely as not before is at most 98.3 % sure of it after; where answers go together, the others tell of it too.","About all 3 questions together, answered or not, and a fact that shows in every one of them, as a general opinion may: whoever thought it as likely as not before is at most 99.9994 % sure of it after.","Whether you answer a question at all is hidden in the same way as an answer."],"description":"","guarantee":{"answer_epsilon":4,"assumptions":["the profile is reported once, with fresh noise","the lists of tasks and of workers are public and fixed beforehand","what is sent, or withdrawn, does not depend on what was drawn"],"delta":0,"participation_protected":true,"worker_epsilon":12},"mechanism":{"domain":{"kind":"ordinal","levels":[1,2,3,4,5]},"epsilon":4,"fill":"midpoint","grid_step":0.00390625,"learning_rate":null,"max_steps":100000,"mechanism":"matrix-factorization","noise_scale":4294967296,"profile":"gaussian","rank":2,"ridge":1,"seed":0,"step":null,"steps":1024,"variant":"fill","version":1},"report":{"kind":"sketch","length":2,"numbers":"whole","value":[-300647710720,300647710720]},"tasks":3,"tasks_hash":"301ea9a194ce808dbe65ce5789799278def0fe5d8bc4f5fbbbdc8271d76c45f3","title":"Birds","version":1}',X'075003194027DEDD8DEB49E79DA2D0E0FD6C817B92AFBD5B0A2BDBEA1DE0A570',0,0);
INSERT INTO "campaign" VALUES(X'4B4D3D87FDAF13DEC2CF115FF2C41B41',X'CB16C25DF57D233A9E81049F1C048BC3','open',3,'Birds','é, and ''quotes''','{"domain":{"kind":"categorical","labels":["no","yes"]},"epsilon":1,"flip_probability":null,"mechanism":"one-layer","null":null,"other_weight":1155094610,"version":1}',NULL,'invite',NULL,NULL,'{"answers_per_participant":4,"campaign":"4b4d3d87fdaf13dec2cf115ff2c41b41","channel":{"kind":"table","weights":[[3139872686,1155094610],[1155094610,3139872686]]},"consent":["About one answer, for somebody who knows all your others: whoever thought it as likely as not before is at most 73.2 % sure of it after; where answers go together, the others tell of it too.","About all 4 answers together, and a fact that shows in every one of them, as a general opinion may: whoever thought it as likely as not before is at most 98.3 % sure of it after.","Which questions you answer is not hidden."],"description":"é, and ''quotes''","guarantee":{"answer_epsilon":0.9999999991993346,"assumptions":["every answer is randomised once, with fresh random words","which tasks are answered does not depend on the answers","what is sent, or withdrawn, does not depend on what was drawn"],"delta":0,"participation_protected":false,"worker_epsilon":3.9999999967973383},"mechanism":{"domain":{"kind":"categorical","labels":["no","yes"]},"epsilon":1,"flip_probability":null,"mechanism":"one-layer","null":null,"other_weight":1155094610,"version":1},"report":{"bit":null,"every_task":false,"kind":"value","value":[0,1]},"tasks":4,"tasks_hash":"9fb28c7a48f59212c2bdac3dd1432b96002e1eef1f0a48b49c7ad38da1433742","title":"Birds","version":1}',X'42C013DA28C7E03CB55E173B7589E3D8D9E569388614A0C3F7AEB1149CAB1E51',1,5);
INSERT INTO "campaign" VALUES(X'8009800172628EC93CF326DE4A75F514',X'CB16C25DF57D233A9E81049F1C048BC3','draft',2,'A draft','','{"domain":{"kind":"categorical","labels":["no","yes"]},"epsilon":1,"flip_probability":null,"mechanism":"one-layer","null":null,"other_weight":1155094610,"version":1}',NULL,'invite',NULL,NULL,NULL,NULL,0,0);
INSERT INTO "campaign" VALUES(X'A219863E2CA723C841B1D4E90B3E9A5B',X'CB16C25DF57D233A9E81049F1C048BC3','closed',4,'A closed one','','{"domain":{"kind":"categorical","labels":["no","yes"]},"epsilon":1,"flip_probability":null,"mechanism":"one-layer","null":null,"other_weight":1155094610,"version":1}',NULL,'open',2,NULL,'{"answers_per_participant":2,"campaign":"a219863e2ca723c841b1d4e90b3e9a5b","channel":{"kind":"table","weights":[[3139872686,1155094610],[1155094610,3139872686]]},"consent":["About one answer, for somebody who knows all your others: whoever thought it as likely as not before is at most 73.2 % sure of it after; where answers go together, the others tell of it too.","About all 2 answers together, and a fact that shows in every one of them, as a general opinion may: whoever thought it as likely as not before is at most 88.1 % sure of it after.","Which questions you answer is not hidden."],"description":"","guarantee":{"answer_epsilon":0.9999999991993346,"assumptions":["every answer is randomised once, with fresh random words","which tasks are answered does not depend on the answers","what is sent, or withdrawn, does not depend on what was drawn"],"delta":0,"participation_protected":false,"worker_epsilon":1.9999999983986692},"mechanism":{"domain":{"kind":"categorical","labels":["no","yes"]},"epsilon":1,"flip_probability":null,"mechanism":"one-layer","null":null,"other_weight":1155094610,"version":1},"report":{"bit":null,"every_task":false,"kind":"value","value":[0,1]},"tasks":3,"tasks_hash":"12d0f39503da066ca3fd2758abce6a2bcb80e8bcc0026e18585c8dc4db1ad4a8","title":"A closed one","version":1}',X'44662E84FE4F61100E009270472CA08F6A818761C45D1F5A70D4DFA4E0346A1D',0,0);
CREATE TABLE inference (
	campaign_id BLOB NOT NULL, 
	reports INTEGER NOT NULL, 
	erasures INTEGER NOT NULL, 
	method TEXT, 
	etag TEXT NOT NULL, 
	snapshot TEXT NOT NULL, 
	PRIMARY KEY (campaign_id), 
	FOREIGN KEY(campaign_id) REFERENCES campaign (id) ON DELETE CASCADE
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "inference" VALUES(X'108BE5EFFBB38B4F0EB719FE2CF08A7C',2,0,NULL,'fb3552e188ec160dfb8d42273c7b438f','{"config_hash":"075003194027dedd8deb49e79da2d0e0fd6c817b92afbd5b0a2bdbea1de0a570","method":{"method":"weighted-mean","version":1,"max_iterations":100,"seed":0,"tolerance":1e-13,"floor":0.001,"smoothing":0.1},"reports":2,"participants":2,"iterations":2,"converged":true,"truths":[{"task":"t0","truth":2.8158931149288096,"standard_error":0.1702429827356837,"spread":0.1702429827356837,"reports":2},{"task":"t1","truth":3.176477657936357,"standard_error":0.19002469554661203,"spread":0.19002469554661203,"reports":2},{"task":"t2","truth":3.219607774502966,"standard_error":0.5783075892587202,"spread":0.5783075892587202,"reports":2}],"workers":[{"worker":"worker-75c3d34c067470f4","error":0.3649345721644532,"quality":0.5,"reports":3,"answer_epsilon":4.0,"total_epsilon":12.0},{"worker":"worker-eac05a39da34f53b","error":0.3649345721644532,"quality":0.5,"reports":3,"answer_epsilon":4.0,"total_epsilon":12.0}],"privacy":{"mechanism":"matrix-factorization","answer_epsilon":4.0,"worker_epsilon":12.0,"delta":0.0,"participation_protected":true},"agreement":{"reports":-0.33760247268876964,"answers":null,"answers_error":null},"warnings":[{"code":"assumption","message":"WeightedMean has no model of the noise: it reads the reports of MatrixFactorization as plain answers, and is surer of the truths than it should be. Every worker reports every task: what noise made of no answer counts as an answer."},{"code":"dominant-worker","message":"one worker gave 50% of all reports: truths lean on that worker"},{"code":"few-reports","message":"3 of 3 tasks have fewer than 3 reports"},{"code":"agreement-unknown","message":"how much answers agree is not told: the noise leaves it open, or its standard error would be above 0.1. More workers, or more tasks for each, tell more."}]}');
INSERT INTO "inference" VALUES(X'4B4D3D87FDAF13DEC2CF115FF2C41B41',10,1,NULL,'d6c05c242add6f96b96d57b4d42c83b3','{"config_hash":"42c013da28c7e03cb55e173b7589e3d8d9e569388614a0c3f7aeb1149cab1e51","method":{"method":"weighted-vote","version":1,"max_iterations":100,"tolerance":1e-08,"seed":0,"smoothing":1.0},"reports":10,"participants":3,"iterations":2,"converged":true,"truths":[{"task":"t0","truth":"no","confidence":0.9525741267277673,"reports":3,"tied":false},{"task":"t1","truth":"yes","confidence":0.7310585784926733,"reports":1,"tied":false},{"task":"t2","truth":"yes","confidence":0.9525741267277673,"reports":3,"tied":false},{"task":"t3","truth":"no","confidence":0.9525741267277673,"reports":3,"tied":false}],"workers":[{"worker":"worker-06cf6ae346dd2501","agreement":1.0,"quality":1.0,"reports":3,"answer_epsilon":0.9999999991993346,"total_epsilon":2.999999997598004},{"worker":"worker-36cd55fe34ba1bc5","agreement":0.0,"quality":0.0,"reports":4,"answer_epsilon":0.9999999991993346,"total_epsilon":3.9999999967973383},{"worker":"worker-b7957099383299b3","agreement":1.0,"quality":1.0,"reports":3,"answer_epsilon":0.9999999991993346,"total_epsilon":2.999999997598004}],"privacy":{"mechanism":"one-layer","answer_epsilon":0.9999999991993346,"worker_epsilon":3.9999999967973383,"delta":0.0,"participation_protected":false},"agreement":{"reports":0.3333333333333333,"answers":null,"answers_error":null},"warnings":[{"code":"assumption","message":"WeightedVote has no model of the noise: it reads the reports of RandomizedResponse as plain answers, and is surer of the truths than it should be. Only the workers'' quality is corrected for the noise, where it can be."},{"code":"dominant-worker","message":"one worker gave 40% of all reports: truths lean on that worker"},{"code":"few-reports","message":"1 of 4 tasks have fewer than 3 reports"},{"code":"agreement-unknown","message":"how much answers agree is not told: the noise leaves it open, or its standard error would be above 0.1. More workers, or more tasks for each, tell more."}]}');
INSERT INTO "inference" VALUES(X'A219863E2CA723C841B1D4E90B3E9A5B',6,0,NULL,'a7f9441ab28ee0cab5a37ccfb234e492','{"config_hash":"44662e84fe4f61100e009270472ca08f6a818761c45d1f5a70d4dfa4e0346a1d","method":{"method":"weighted-vote","version":1,"max_iterations":100,"tolerance":1e-08,"seed":0,"smoothing":1.0},"reports":6,"participants":3,"iterations":2,"converged":true,"truths":[{"task":"a","truth":"yes","confidence":1.0,"reports":0,"tied":false},{"task":"b","truth":"yes","confidence":0.8807970778556539,"reports":3,"tied":false},{"task":"c","truth":"no","confidence":1.0,"reports":3,"tied":false}],"workers":[{"worker":"worker-11e33433fc953b06","agreement":1.0,"quality":1.0,"reports":2,"answer_epsilon":0.9999999991993346,"total_epsilon":1.9999999983986692},{"worker":"worker-73ac87cc28c5cd35","agreement":0.5,"quality":0.5,"reports":2,"answer_epsilon":0.9999999991993346,"total_epsilon":1.9999999983986692},{"worker":"worker-e00ed9a0dff62f69","agreement":1.0,"quality":1.0,"reports":2,"answer_epsilon":0.9999999991993346,"total_epsilon":1.9999999983986692}],"privacy":{"mechanism":"one-layer","answer_epsilon":0.9999999991993346,"worker_epsilon":1.9999999983986692,"delta":0.0,"participation_protected":false},"agreement":{"reports":0.6666666666666666,"answers":null,"answers_error":null},"warnings":[{"code":"assumption","message":"WeightedVote has no model of the noise: it reads the reports of RandomizedResponse as plain answers, and is surer of the truths than it should be. Only the workers'' quality is corrected for the noise, where it can be."},{"code":"dominant-worker","message":"one worker gave 33% of all reports: truths lean on that worker"},{"code":"few-reports","message":"1 of 3 tasks have fewer than 3 reports"},{"code":"agreement-unknown","message":"how much answers agree is not told: the noise leaves it open, or its standard error would be above 0.1. More workers, or more tasks for each, tell more."}]}');
CREATE TABLE invite (
	campaign_id BLOB NOT NULL, 
	token_sha256 BLOB NOT NULL, 
	PRIMARY KEY (campaign_id, token_sha256), 
	FOREIGN KEY(campaign_id) REFERENCES campaign (id) ON DELETE CASCADE
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "invite" VALUES(X'4B4D3D87FDAF13DEC2CF115FF2C41B41',X'A0DE2878DBD7564DE45B237F4F5F82F235746201EB280BE1B4701E3F4CDF4041');
INSERT INTO "invite" VALUES(X'4B4D3D87FDAF13DEC2CF115FF2C41B41',X'C458EA69C4414D6C2BE63020776466224598BFD94B1DB88E65043930D1390F6B');
CREATE TABLE participant (
	id BLOB NOT NULL, 
	campaign_id BLOB NOT NULL, 
	token_sha256 BLOB NOT NULL, 
	pseudonym TEXT NOT NULL, 
	consent_hash BLOB NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(campaign_id) REFERENCES campaign (id) ON DELETE CASCADE, 
	UNIQUE (campaign_id, id), 
	UNIQUE (campaign_id, pseudonym)
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "participant" VALUES(X'025D95C931A10428D30E6C22BA8F57A1',X'4B4D3D87FDAF13DEC2CF115FF2C41B41',X'025D95C931A10428D30E6C22BA8F57A115543F18C78A678A2B6E0124AA893F4B','worker-36cd55fe34ba1bc5',X'42C013DA28C7E03CB55E173B7589E3D8D9E569388614A0C3F7AEB1149CAB1E51');
INSERT INTO "participant" VALUES(X'0EDC867081751F8AEEBCBF3004C97CA8',X'A219863E2CA723C841B1D4E90B3E9A5B',X'0EDC867081751F8AEEBCBF3004C97CA8BF88EF61CA459498992E9F9DF18D3863','worker-73ac87cc28c5cd35',X'44662E84FE4F61100E009270472CA08F6A818761C45D1F5A70D4DFA4E0346A1D');
INSERT INTO "participant" VALUES(X'1E0BF875E8C79165FD1BDFE374788C3E',X'108BE5EFFBB38B4F0EB719FE2CF08A7C',X'1E0BF875E8C79165FD1BDFE374788C3EC1BEB01AFB3F4DF71ECF9B1EEFDEDC3C','worker-75c3d34c067470f4',X'075003194027DEDD8DEB49E79DA2D0E0FD6C817B92AFBD5B0A2BDBEA1DE0A570');
INSERT INTO "participant" VALUES(X'3496303AEEAD47056FD450381658FE51',X'A219863E2CA723C841B1D4E90B3E9A5B',X'3496303AEEAD47056FD450381658FE512CBEF8ED38C6BB9BD6B357726532A12C','worker-11e33433fc953b06',X'44662E84FE4F61100E009270472CA08F6A818761C45D1F5A70D4DFA4E0346A1D');
INSERT INTO "participant" VALUES(X'4007DD6F2F6CB81C89AA390F51031E59',X'4B4D3D87FDAF13DEC2CF115FF2C41B41',X'4007DD6F2F6CB81C89AA390F51031E59CBD220BF25B079DF1E2F082B534992A6','worker-b7957099383299b3',X'42C013DA28C7E03CB55E173B7589E3D8D9E569388614A0C3F7AEB1149CAB1E51');
INSERT INTO "participant" VALUES(X'5A09DE4C70A3DF1C8BDB80098C08B5DB',X'108BE5EFFBB38B4F0EB719FE2CF08A7C',X'5A09DE4C70A3DF1C8BDB80098C08B5DB9F62C2C64B086E42E53DBD99203DDD74','worker-eac05a39da34f53b',X'075003194027DEDD8DEB49E79DA2D0E0FD6C817B92AFBD5B0A2BDBEA1DE0A570');
INSERT INTO "participant" VALUES(X'65B1D09B891FD2DC3CE365548DC06E51',X'A219863E2CA723C841B1D4E90B3E9A5B',X'65B1D09B891FD2DC3CE365548DC06E51D33EEAA9F76D9D0815C5CBB271BF7058','worker-e00ed9a0dff62f69',X'44662E84FE4F61100E009270472CA08F6A818761C45D1F5A70D4DFA4E0346A1D');
INSERT INTO "participant" VALUES(X'920BB0E2377378282755409F40C60FE1',X'4B4D3D87FDAF13DEC2CF115FF2C41B41',X'920BB0E2377378282755409F40C60FE1E8D47E0BD767FA5F48352D821B528EF3','worker-06cf6ae346dd2501',X'42C013DA28C7E03CB55E173B7589E3D8D9E569388614A0C3F7AEB1149CAB1E51');
INSERT INTO "participant" VALUES(X'E5CED1AFA5D7FFDC46F60C068C3BA03B',X'4B4D3D87FDAF13DEC2CF115FF2C41B41',X'E5CED1AFA5D7FFDC46F60C068C3BA03B64477955BAC7DC25B8771A86A4407549','worker-2111fda054372376',X'42C013DA28C7E03CB55E173B7589E3D8D9E569388614A0C3F7AEB1149CAB1E51');
CREATE TABLE report (
	campaign_id BLOB NOT NULL, 
	participant_id BLOB NOT NULL, 
	task_id BLOB NOT NULL, 
	report_id BLOB NOT NULL, 
	value INTEGER NOT NULL, 
	bit INTEGER, 
	PRIMARY KEY (campaign_id, participant_id, task_id), 
	FOREIGN KEY(campaign_id, participant_id) REFERENCES participant (campaign_id, id) ON DELETE CASCADE, 
	UNIQUE (campaign_id, report_id)
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "report" VALUES(X'4B4D3D87FDAF13DEC2CF115FF2C41B41',X'025D95C931A10428D30E6C22BA8F57A1',X'099FB32870AC841052A72F22E2EABEED',X'E9D05A34713BF544025EF7386DCB4FA6',1,NULL);
INSERT INTO "report" VALUES(X'4B4D3D87FDAF13DEC2CF115FF2C41B41',X'025D95C931A10428D30E6C22BA8F57A1',X'84CDED6001CD11FCF3C7C425AD92C0B6',X'3B105402B052DC4075E580F5E63623DE',0,NULL);
INSERT INTO "report" VALUES(X'4B4D3D87FDAF13DEC2CF115FF2C41B41',X'025D95C931A10428D30E6C22BA8F57A1',X'A860AC4D007205F24DEF232FDF46A0CB',X'0AB196826B8ED00EC3591238EF0BA0C7',1,NULL);
INSERT INTO "report" VALUES(X'4B4D3D87FDAF13DEC2CF115FF2C41B41',X'025D95C931A10428D30E6C22BA8F57A1',X'C2DD5108C6724D661F4EE8E48FA5243B',X'59BC7791908E8057BC40C0E68D6D677E',0,NULL);
INSERT INTO "report" VALUES(X'4B4D3D87FDAF13DEC2CF115FF2C41B41',X'4007DD6F2F6CB81C89AA390F51031E59',X'099FB32870AC841052A72F22E2EABEED',X'6734D6258340C97DFF6C4E77B0DEFE72',0,NULL);
INSERT INTO "report" VALUES(X'4B4D3D87FDAF13DEC2CF115FF2C41B41',X'4007DD6F2F6CB81C89AA390F51031E59',X'84CDED6001CD11FCF3C7C425AD92C0B6',X'F16B94371204DD058AD7819C8926DAA0',1,NULL);
INSERT INTO "report" VALUES(X'4B4D3D87FDAF13DEC2CF115FF2C41B41',X'4007DD6F2F6CB81C89AA390F51031E59',X'A860AC4D007205F24DEF232FDF46A0CB',X'65714C0E3DF98B986F9EA43712695F97',0,NULL);
INSERT INTO "report" VALUES(X'4B4D3D87FDAF13DEC2CF115FF2C41B41',X'920BB0E2377378282755409F40C60FE1',X'099FB32870AC841052A72F22E2EABEED',X'DCD6A96F2CEAD62AF4442EE4CE103390',0,NULL);
INSERT INTO "report" VALUES(X'4B4D3D87FDAF13DEC2CF115FF2C41B41',X'920BB0E2377378282755409F40C60FE1',X'84CDED6001CD11FCF3C7C425AD92C0B6',X'DD7C950B32C810CB24478D14D411B48B',1,NULL);
INSERT INTO "report" VALUES(X'4B4D3D87FDAF13DEC2CF115FF2C41B41',X'920BB0E2377378282755409F40C60FE1',X'A860AC4D007205F24DEF232FDF46A0CB',X'9B6CE073DA07071DAEB2899E08E6885D',0,NULL);
INSERT INTO "report" VALUES(X'A219863E2CA723C841B1D4E90B3E9A5B',X'0EDC867081751F8AEEBCBF3004C97CA8',X'970BF3C1AAE0BB8AC6D034AE31933C11',X'5DCA1698C7B158B314A3D8A85DB6BB30',1,NULL);
INSERT INTO "report" VALUES(X'A219863E2CA723C841B1D4E90B3E9A5B',X'0EDC867081751F8AEEBCBF3004C97CA8',X'B91F69BDBD0920774C294F7B3C37AB7E',X'F1ACC814DC907F377980C34E96C1B620',1,NULL);
INSERT INTO "report" VALUES(X'A219863E2CA723C841B1D4E90B3E9A5B',X'3496303AEEAD47056FD450381658FE51',X'970BF3C1AAE0BB8AC6D034AE31933C11',X'E0F451C4A333284CA0284F7E0670BFB5',1,NULL);
INSERT INTO "report" VALUES(X'A219863E2CA723C841B1D4E90B3E9A5B',X'3496303AEEAD47056FD450381658FE51',X'B91F69BDBD0920774C294F7B3C37AB7E',X'A165581B58C76EF4BCAD87EACDCDD6C1',0,NULL);
INSERT INTO "report" VALUES(X'A219863E2CA723C841B1D4E90B3E9A5B',X'65B1D09B891FD2DC3CE365548DC06E51',X'970BF3C1AAE0BB8AC6D034AE31933C11',X'B463F0676C9F8CD6A3EBD52A865ECEE9',1,NULL);
INSERT INTO "report" VALUES(X'A219863E2CA723C841B1D4E90B3E9A5B',X'65B1D09B891FD2DC3CE365548DC06E51',X'B91F69BDBD0920774C294F7B3C37AB7E',X'6A96ECA7DEDA87D68CBCFF423184BA62',0,NULL);
CREATE TABLE requester (
	id BLOB NOT NULL, 
	name TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "requester" VALUES(X'CB16C25DF57D233A9E81049F1C048BC3','requester b074203c70988e49');
CREATE TABLE sketch (
	campaign_id BLOB NOT NULL, 
	participant_id BLOB NOT NULL, 
	report_id BLOB NOT NULL, 
	numbers BLOB NOT NULL, 
	PRIMARY KEY (campaign_id, participant_id), 
	FOREIGN KEY(campaign_id, participant_id) REFERENCES participant (campaign_id, id) ON DELETE CASCADE, 
	UNIQUE (campaign_id, report_id)
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "sketch" VALUES(X'108BE5EFFBB38B4F0EB719FE2CF08A7C',X'1E0BF875E8C79165FD1BDFE374788C3E',X'6B0429ED5F867D94FAA707EFFCBB95B1',X'DDDAC0940100000083C97D32FFFFFFFF');
INSERT INTO "sketch" VALUES(X'108BE5EFFBB38B4F0EB719FE2CF08A7C',X'5A09DE4C70A3DF1C8BDB80098C08B5DB',X'883C3DCF9F323488ED6B0AB2FD1CE6D6',X'EBD60BC0FEFFFFFF043F7476FFFFFFFF');
CREATE TABLE task (
	id BLOB NOT NULL, 
	campaign_id BLOB NOT NULL, 
	position INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	data TEXT NOT NULL, 
	gold TEXT, 
	PRIMARY KEY (id), 
	FOREIGN KEY(campaign_id) REFERENCES campaign (id) ON DELETE CASCADE, 
	UNIQUE (campaign_id, name), 
	UNIQUE (campaign_id, position)
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "task" VALUES(X'099FB32870AC841052A72F22E2EABEED',X'4B4D3D87FDAF13DEC2CF115FF2C41B41',1,'t0','{"question":"Is it 0?"}',NULL);
INSERT INTO "task" VALUES(X'126CC7B0D3DF8591EE9F207736D0658C',X'8009800172628EC93CF326DE4A75F514',1,'x','{"question":"Is it x?"}',NULL);
INSERT INTO "task" VALUES(X'3ED10FD9E6466CB7CA11E0B5F848EB62',X'108BE5EFFBB38B4F0EB719FE2CF08A7C',1,'t0','{"question":"Is it 0?"}',NULL);
INSERT INTO "task" VALUES(X'7D3EEC50ECBDDC520878AECE8A2ED297',X'108BE5EFFBB38B4F0EB719FE2CF08A7C',2,'t1','{"question":"Is it 1?"}',NULL);
INSERT INTO "task" VALUES(X'84CDED6001CD11FCF3C7C425AD92C0B6',X'4B4D3D87FDAF13DEC2CF115FF2C41B41',3,'t2','{"question":"Is it 2?"}',NULL);
INSERT INTO "task" VALUES(X'970BF3C1AAE0BB8AC6D034AE31933C11',X'A219863E2CA723C841B1D4E90B3E9A5B',2,'b','{"question":"Is it b?"}',NULL);
INSERT INTO "task" VALUES(X'A860AC4D007205F24DEF232FDF46A0CB',X'4B4D3D87FDAF13DEC2CF115FF2C41B41',4,'t3','{"question":"Is it 3?"}',NULL);
INSERT INTO "task" VALUES(X'B91F69BDBD0920774C294F7B3C37AB7E',X'A219863E2CA723C841B1D4E90B3E9A5B',3,'c','{"question":"Is it c?"}','"no"');
INSERT INTO "task" VALUES(X'C2DD5108C6724D661F4EE8E48FA5243B',X'4B4D3D87FDAF13DEC2CF115FF2C41B41',2,'t1','{"question":"Is it 1?"}',NULL);
INSERT INTO "task" VALUES(X'C918245C137F3E06A221167B210811B2',X'A219863E2CA723C841B1D4E90B3E9A5B',1,'a','{"question":"Is it a?"}','"yes"');
INSERT INTO "task" VALUES(X'EA7E90AA3FE2B3C1F9CDC51AD1F7FFAB',X'108BE5EFFBB38B4F0EB719FE2CF08A7C',3,'t2','{"question":"Is it 2?"}',NULL);
CREATE TABLE withdrawn (
	campaign_id BLOB NOT NULL, 
	credential_hash BLOB NOT NULL, 
	PRIMARY KEY (campaign_id, credential_hash), 
	FOREIGN KEY(campaign_id) REFERENCES campaign (id) ON DELETE CASCADE
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "withdrawn" VALUES(X'4B4D3D87FDAF13DEC2CF115FF2C41B41',X'194EA4B861BC722459972E37FB1092B84D4893E33D054D897060C30E2D67AAF4');
CREATE INDEX ix_campaign_requester_id ON campaign (requester_id);
COMMIT;
