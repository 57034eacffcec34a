SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.api_key (
    token_sha256 bytea NOT NULL,
    requester_id bytea NOT NULL
);
CREATE TABLE public.campaign (
    id bytea NOT NULL,
    requester_id bytea NOT NULL,
    state text NOT NULL,
    version bigint NOT NULL,
    title text NOT NULL,
    description text NOT NULL,
    mechanism text NOT NULL,
    method text,
    join_mode text NOT NULL,
    answers_per_participant bigint,
    max_participants bigint,
    config text,
    config_hash bytea,
    erasures bigint NOT NULL,
    invites_used bigint NOT NULL
);
CREATE TABLE public.inference (
    campaign_id bytea NOT NULL,
    reports bigint NOT NULL,
    erasures bigint NOT NULL,
    method text,
    etag text NOT NULL,
    snapshot text NOT NULL
);
CREATE TABLE public.invite (
    campaign_id bytea NOT NULL,
    token_sha256 bytea NOT NULL
);
CREATE TABLE public.participant (
    id bytea NOT NULL,
    campaign_id bytea NOT NULL,
    token_sha256 bytea NOT NULL,
    pseudonym text NOT NULL,
    consent_hash bytea NOT NULL
);
CREATE TABLE public.report (
    campaign_id bytea NOT NULL,
    participant_id bytea NOT NULL,
    task_id bytea NOT NULL,
    report_id bytea NOT NULL,
    value bigint NOT NULL,
    "bit" bigint
);
CREATE TABLE public.requester (
    id bytea NOT NULL,
    name text NOT NULL
);
CREATE TABLE public.sketch (
    campaign_id bytea NOT NULL,
    participant_id bytea NOT NULL,
    report_id bytea NOT NULL,
    numbers bytea NOT NULL
);
CREATE TABLE public.task (
    id bytea NOT NULL,
    campaign_id bytea NOT NULL,
    "position" bigint NOT NULL,
    name text NOT NULL,
    data text NOT NULL,
    gold text
);
CREATE TABLE public.withdrawn (
    campaign_id bytea NOT NULL,
    credential_hash bytea NOT NULL
);
INSERT INTO public.alembic_version VALUES ('0001');
INSERT INTO public.api_key VALUES ('\xbb4d195869a567cbdcc8a5550696e5a27af8a74aa3e8f540c8e6eb4074e8eba7', '\x77de92878538a46055e3690ecf653cff');
INSERT INTO public.campaign VALUES ('\x2ee0651c48f2d2c0016e4aca19e68b2a', '\x77de92878538a46055e3690ecf653cff', 'open', 3, 'Birds', 'é, and ''quotes''', '{"domain":{"kind":"categorical","labels":["no","yes"]},"epsilon":1,"flip_probability":null,"mechanism":"one-layer","null":null,"other_weight":1155094610,"version":1}', NULL, 'invite', NULL, NULL, '{"answers_per_participant":4,"campaign":"2ee0651c48f2d2c0016e4aca19e68b2a","channel":{"kind":"table","weights":[[3139872686,1155094610],[1155094610,3139872686]]},"consent":["About one answer, for somebody who knows all your others: whoever thought it as likely as not before is at most 73.2 % sure of it after; where answers go together, the others tell of it too.","About all 4 answers together, and a fact that shows in every one of them, as a general opinion may: whoever thought it as likely as not before is at most 98.3 % sure of it after.","Which questions you answer is not hidden."],"description":"é, and ''quotes''","guarantee":{"answer_epsilon":0.9999999991993346,"assumptions":["every answer is randomised once, with fresh random words","which tasks are answered does not depend on the answers","what is sent, or withdrawn, does not depend on what was drawn"],"delta":0,"participation_protected":false,"worker_epsilon":3.9999999967973383},"mechanism":{"domain":{"kind":"categorical","labels":["no","yes"]},"epsilon":1,"flip_probability":null,"mechanism":"one-layer","null":null,"other_weight":1155094610,"version":1},"report":{"bit":null,"every_task":false,"kind":"value","value":[0,1]},"tasks":4,"tasks_hash":"8456eeb76a4d2b915b6b732d48973cf4e7087e822acff76d6be6429682f18af3","title":"Birds","version":1}', '\xe6cba3f9e636f8c7e819baadd0774398266c129eef0403066cd72cfed7e920c5', 1, 5);
INSERT INTO public.campaign VALUES ('\x41809b3049f2aaf9233d3573ae114ca4', '\x77de92878538a46055e3690ecf653cff', 'open', 3, 'Birds', '', '{"domain":{"kind":"ordinal","levels":[1,2,3,4,5]},"epsilon":4,"fill":"midpoint","grid_step":0.00390625,"learning_rate":null,"max_steps":100000,"mechanism":"matrix-factorization","noise_scale":4294967296,"profile":"gaussian","rank":2,"ridge":1,"seed":0,"step":null,"steps":1024,"variant":"fill","version":1}', NULL, 'open', NULL, 9, '{"answers_per_participant":3,"campaign":"41809b3049f2aaf9233d3573ae114ca4","channel":{"centre":512,"grid":{"high":5,"low":1,"step":0.00390625,"steps":1024},"kind":"sketch","moments_epsilon":0,"noise_scale":4294967296,"noise_unit":5.960464477539063e-8,"profile":{"kind":"gaussian","rank":2,"seed":0}},"consent":["About one answer, for somebody who knows all your others: whoever thought it as likely as not before is at most 98.3 % sure of it after; where answers go together, the others tell of it too.","About all 3 questions together, answered or not, and a fact that shows in every one of them, as a general opinion may: whoever thought it as likely as not before is at most 99.9994 % sure of it after.","Whether you answer a question at all is hidden in the same way as an answer."],"description":"","guarantee":{"answer_epsilon":4,"assumptions":["the profile is reported once, with fresh noise","the lists of tasks and of workers are public and fixed beforehand","what is sent, or withdrawn, does not depend on what was drawn"],"delta":0,"participation_protected":true,"worker_epsilon":12},"mechanism":{"domain":{"kind":"ordinal","levels":[1,2,3,4,5]},"epsilon":4,"fill":"midpoint","grid_step":0.00390625,"learning_rate":null,"max_steps":100000,"mechanism":"matrix-factorization","noise_scale":4294967296,"profile":"gaussian","rank":2,"ridge":1,"seed":0,"step":null,"steps":1024,"variant":"fill","version":1},"report":{"kind":"sketch","length":2,"numbers":"whole","value":[-300647710720,300647710720]},"tasks":3,"tasks_hash":"2b93eb1ac56ed52009d7a378d041a0529551c4ad5eebcef057aaa64766aebc14","title":"Birds","version":1}', '\x7965148f4da7cae7bbf5b4a5c2a0ceb1da1f70fa916e1ee08122e020f31af3eb', 0, 0);
INSERT INTO public.campaign VALUES ('\xbd58d1bac5f199591faf576ef4eba4a8', '\x77de92878538a46055e3690ecf653cff', 'closed', 4, 'A closed one', '', '{"domain":{"kind":"categorical","labels":["no","yes"]},"epsilon":1,"flip_probability":null,"mechanism":"one-layer","null":null,"other_weight":1155094610,"version":1}', NULL, 'open', 2, NULL, '{"answers_per_participant":2,"campaign":"bd58d1bac5f199591faf576ef4eba4a8","channel":{"kind":"table","weights":[[3139872686,1155094610],[1155094610,3139872686]]},"consent":["About one answer, for somebody who knows all your others: whoever thought it as likely as not before is at most 73.2 % sure of it after; where answers go together, the others tell of it too.","About all 2 answers together, and a fact that shows in every one of them, as a general opinion may: whoever thought it as likely as not before is at most 88.1 % sure of it after.","Which questions you answer is not hidden."],"description":"","guarantee":{"answer_epsilon":0.9999999991993346,"assumptions":["every answer is randomised once, with fresh random words","which tasks are answered does not depend on the answers","what is sent, or withdrawn, does not depend on what was drawn"],"delta":0,"participation_protected":false,"worker_epsilon":1.9999999983986692},"mechanism":{"domain":{"kind":"categorical","labels":["no","yes"]},"epsilon":1,"flip_probability":null,"mechanism":"one-layer","null":null,"other_weight":1155094610,"version":1},"report":{"bit":null,"every_task":false,"kind":"value","value":[0,1]},"tasks":3,"tasks_hash":"98239c09a13aff57acf18fc5ee73b8d5f5ae59ba3b40fce682dc01ae642a4e68","title":"A closed one","version":1}', '\x53c7db05663235484d0e7c5ce07a47d4c3184c85cb97514ce0f00074f7b85e9f', 0, 0);
INSERT INTO public.campaign VALUES ('\xcbe5e1d8cdf23c1f60a2edf6a63a3ca5', '\x77de92878538a46055e3690ecf653cff', 'draft', 2, 'A draft', '', '{"domain":{"kind":"categorical","labels":["no","yes"]},"epsilon":1,"flip_probability":null,"mechanism":"one-layer","null":null,"other_weight":1155094610,"version":1}', NULL, 'invite', NULL, NULL, NULL, NULL, 0, 0);
INSERT INTO public.inference VALUES ('\x41809b3049f2aaf9233d3573ae114ca4', 2, 0, NULL, '2276fff2e80e7576c3b9299422503b53', '{"config_hash":"7965148f4da7cae7bbf5b4a5c2a0ceb1da1f70fa916e1ee08122e020f31af3eb","method":{"method":"weighted-mean","version":1,"max_iterations":100,"seed":0,"tolerance":1e-13,"floor":0.001,"smoothing":0.1},"reports":2,"participants":2,"iterations":2,"converged":true,"truths":[{"task":"t0","truth":2.6004927966755167,"standard_error":0.4738378686366733,"spread":0.4738378686366733,"reports":2},{"task":"t1","truth":3.384825401408278,"standard_error":0.4964483136939583,"spread":0.4964483136939583,"reports":2},{"task":"t2","truth":3.4219959898116854,"standard_error":0.6648373099995352,"spread":0.6648373099995352,"reports":2}],"workers":[{"worker":"worker-5a3288271f195305","error":0.5516617027040932,"quality":0.5,"reports":3,"answer_epsilon":4.0,"total_epsilon":12.0},{"worker":"worker-cb01f1435852acd7","error":0.5516617027040932,"quality":0.5,"reports":3,"answer_epsilon":4.0,"total_epsilon":12.0}],"privacy":{"mechanism":"matrix-factorization","answer_epsilon":4.0,"worker_epsilon":12.0,"delta":0.0,"participation_protected":true},"agreement":{"reports":-0.13263117582800676,"answers":null,"answers_error":null},"warnings":[{"code":"assumption","message":"WeightedMean has no model of the noise: it reads the reports of MatrixFactorization as plain answers, and is surer of the truths than it should be. Every worker reports every task: what noise made of no answer counts as an answer."},{"code":"dominant-worker","message":"one worker gave 50% of all reports: truths lean on that worker"},{"code":"few-reports","message":"3 of 3 tasks have fewer than 3 reports"},{"code":"agreement-unknown","message":"how much answers agree is not told: the noise leaves it open, or its standard error would be above 0.1. More workers, or more tasks for each, tell more."}]}');
INSERT INTO public.inference VALUES ('\xbd58d1bac5f199591faf576ef4eba4a8', 6, 0, NULL, '330ca50639f8d920bfc1a8141833833c', '{"config_hash":"53c7db05663235484d0e7c5ce07a47d4c3184c85cb97514ce0f00074f7b85e9f","method":{"method":"weighted-vote","version":1,"max_iterations":100,"tolerance":1e-08,"seed":0,"smoothing":1.0},"reports":6,"participants":3,"iterations":2,"converged":true,"truths":[{"task":"a","truth":"yes","confidence":1.0,"reports":3,"tied":false},{"task":"b","truth":null,"confidence":null,"reports":0,"tied":false},{"task":"c","truth":"no","confidence":1.0,"reports":3,"tied":false}],"workers":[{"worker":"worker-0cfc258ee8e329b8","agreement":0.5,"quality":0.5,"reports":2,"answer_epsilon":0.9999999991993346,"total_epsilon":1.9999999983986692},{"worker":"worker-15eefdbcc3c16865","agreement":1.0,"quality":1.0,"reports":2,"answer_epsilon":0.9999999991993346,"total_epsilon":1.9999999983986692},{"worker":"worker-50d5cb295bcbe22b","agreement":1.0,"quality":1.0,"reports":2,"answer_epsilon":0.9999999991993346,"total_epsilon":1.9999999983986692}],"privacy":{"mechanism":"one-layer","answer_epsilon":0.9999999991993346,"worker_epsilon":1.9999999983986692,"delta":0.0,"participation_protected":false},"agreement":{"reports":0.6666666666666666,"answers":null,"answers_error":null},"warnings":[{"code":"assumption","message":"WeightedVote has no model of the noise: it reads the reports of RandomizedResponse as plain answers, and is surer of the truths than it should be. Only the workers'' quality is corrected for the noise, where it can be."},{"code":"dominant-worker","message":"one worker gave 33% of all reports: truths lean on that worker"},{"code":"few-reports","message":"1 of 3 tasks have fewer than 3 reports"},{"code":"agreement-unknown","message":"how much answers agree is not told: the noise leaves it open, or its standard error would be above 0.1. More workers, or more tasks for each, tell more."}]}');
INSERT INTO public.inference VALUES ('\x2ee0651c48f2d2c0016e4aca19e68b2a', 10, 1, NULL, '2ba9eb108326df2816ae4ed33614fe79', '{"config_hash":"e6cba3f9e636f8c7e819baadd0774398266c129eef0403066cd72cfed7e920c5","method":{"method":"weighted-vote","version":1,"max_iterations":100,"tolerance":1e-08,"seed":0,"smoothing":1.0},"reports":10,"participants":3,"iterations":2,"converged":true,"truths":[{"task":"t0","truth":"no","confidence":0.9525741267277673,"reports":3,"tied":false},{"task":"t1","truth":"no","confidence":0.9525741267277673,"reports":3,"tied":false},{"task":"t2","truth":"yes","confidence":0.7310585784926733,"reports":1,"tied":false},{"task":"t3","truth":"yes","confidence":0.9525741267277673,"reports":3,"tied":false}],"workers":[{"worker":"worker-092fc6ef0a87f411","agreement":1.0,"quality":1.0,"reports":3,"answer_epsilon":0.9999999991993346,"total_epsilon":2.999999997598004},{"worker":"worker-2d2b7123120036f1","agreement":0.0,"quality":0.0,"reports":4,"answer_epsilon":0.9999999991993346,"total_epsilon":3.9999999967973383},{"worker":"worker-354b7ff71dffd23a","agreement":1.0,"quality":1.0,"reports":3,"answer_epsilon":0.9999999991993346,"total_epsilon":2.999999997598004}],"privacy":{"mechanism":"one-layer","answer_epsilon":0.9999999991993346,"worker_epsilon":3.9999999967973383,"delta":0.0,"participation_protected":false},"agreement":{"reports":0.3333333333333333,"answers":null,"answers_error":null},"warnings":[{"code":"assumption","message":"WeightedVote has no model of the noise: it reads the reports of RandomizedResponse as plain answers, and is surer of the truths than it should be. Only the workers'' quality is corrected for the noise, where it can be."},{"code":"dominant-worker","message":"one worker gave 40% of all reports: truths lean on that worker"},{"code":"few-reports","message":"1 of 4 tasks have fewer than 3 reports"},{"code":"agreement-unknown","message":"how much answers agree is not told: the noise leaves it open, or its standard error would be above 0.1. More workers, or more tasks for each, tell more."}]}');
INSERT INTO public.invite VALUES ('\x2ee0651c48f2d2c0016e4aca19e68b2a', '\x5fee931fde581685e41ac9d1b3eb74f0eaac45ccbf745a1c0ffcfaa05b80e87d');
INSERT INTO public.invite VALUES ('\x2ee0651c48f2d2c0016e4aca19e68b2a', '\xd66e36f41b8423738c4efe3e029a29e74cdf480e4ebe11fe3ecb807675b8ac52');
INSERT INTO public.participant VALUES ('\x8a5e795f902dafa38f0d78e2050db1e3', '\x2ee0651c48f2d2c0016e4aca19e68b2a', '\x8a5e795f902dafa38f0d78e2050db1e3b1dd600331ac2a0172cab90b6e7ec81f', 'worker-354b7ff71dffd23a', '\xe6cba3f9e636f8c7e819baadd0774398266c129eef0403066cd72cfed7e920c5');
INSERT INTO public.participant VALUES ('\x5a24e61d7b8e2dee1611e20954307f36', '\x2ee0651c48f2d2c0016e4aca19e68b2a', '\x5a24e61d7b8e2dee1611e20954307f361f08797c29ec2c3af979be6587431cfd', 'worker-2d2b7123120036f1', '\xe6cba3f9e636f8c7e819baadd0774398266c129eef0403066cd72cfed7e920c5');
INSERT INTO public.participant VALUES ('\x509014006aabe6c601464e2fa51506e5', '\x2ee0651c48f2d2c0016e4aca19e68b2a', '\x509014006aabe6c601464e2fa51506e55708c71e4ac659a3e7374f98520bbff5', 'worker-092fc6ef0a87f411', '\xe6cba3f9e636f8c7e819baadd0774398266c129eef0403066cd72cfed7e920c5');
INSERT INTO public.participant VALUES ('\xe707af2473be16dda1fb2f4149887c98', '\x2ee0651c48f2d2c0016e4aca19e68b2a', '\xe707af2473be16dda1fb2f4149887c9856f544c893f7dabaf4eaf603306c65ed', 'worker-5daf9f37ce9a99cb', '\xe6cba3f9e636f8c7e819baadd0774398266c129eef0403066cd72cfed7e920c5');
INSERT INTO public.participant VALUES ('\x54c946c715fe3373bfcce12975fe139a', '\x41809b3049f2aaf9233d3573ae114ca4', '\x54c946c715fe3373bfcce12975fe139a45656619b2ca3b358b23f3c640bb6e2f', 'worker-5a3288271f195305', '\x7965148f4da7cae7bbf5b4a5c2a0ceb1da1f70fa916e1ee08122e020f31af3eb');
INSERT INTO public.participant VALUES ('\x4522d72278ce7736ae502938dea2736a', '\x41809b3049f2aaf9233d3573ae114ca4', '\x4522d72278ce7736ae502938dea2736ae965de14429cd914fdd8ebdf1ae3e550', 'worker-cb01f1435852acd7', '\x7965148f4da7cae7bbf5b4a5c2a0ceb1da1f70fa916e1ee08122e020f31af3eb');
INSERT INTO public.participant VALUES ('\x61f159f018ae3d15f70b02001c691cd9', '\xbd58d1bac5f199591faf576ef4eba4a8', '\x61f159f018ae3d15f70b02001c691cd9f8c0a5866682e231af63dc5cf0fa56d3', 'worker-50d5cb295bcbe22b', '\x53c7db05663235484d0e7c5ce07a47d4c3184c85cb97514ce0f00074f7b85e9f');
INSERT INTO public.participant VALUES ('\x1394e2b6d03bc69441e8b0113a3a7dc5', '\xbd58d1bac5f199591faf576ef4eba4a8', '\x1394e2b6d03bc69441e8b0113a3a7dc5900b9de5798f3fefc74ec26f6c1818da', 'worker-0cfc258ee8e329b8', '\x53c7db05663235484d0e7c5ce07a47d4c3184c85cb97514ce0f00074f7b85e9f');
INSERT INTO public.participant VALUES ('\xf1b529a89c90cd5569f6931d309194d3', '\xbd58d1bac5f199591faf576ef4eba4a8', '\xf1b529a89c90cd5569f6931d309194d3c9c3f47c025dbe3d06e040dfafb23b71', 'worker-15eefdbcc3c16865', '\x53c7db05663235484d0e7c5ce07a47d4c3184c85cb97514ce0f00074f7b85e9f');
INSERT INTO public.report VALUES ('\x2ee0651c48f2d2c0016e4aca19e68b2a', '\x8a5e795f902dafa38f0d78e2050db1e3', '\x3df2599a15a772017ba733ca9fa27c42', '\xad16b855406df4ed386d488d6c18a31b', 1, NULL);
INSERT INTO public.report VALUES ('\x2ee0651c48f2d2c0016e4aca19e68b2a', '\x8a5e795f902dafa38f0d78e2050db1e3', '\x2f3318be3ef36989abc0736eff901d5b', '\xabf7f1f587848a7df3bd58dd194ff0e9', 0, NULL);
INSERT INTO public.report VALUES ('\x2ee0651c48f2d2c0016e4aca19e68b2a', '\x8a5e795f902dafa38f0d78e2050db1e3', '\xa573fb618104f24b45480a15795929d9', '\x8f545b47d63b098d493a82656a6518d5', 0, NULL);
INSERT INTO public.report VALUES ('\x2ee0651c48f2d2c0016e4aca19e68b2a', '\x5a24e61d7b8e2dee1611e20954307f36', '\xf0ce94bf3e4098f136c687ff3ebaf952', '\x9c4e7c2e5f3ccee5aa575a5f3fce1813', 0, NULL);
INSERT INTO public.report VALUES ('\x2ee0651c48f2d2c0016e4aca19e68b2a', '\x5a24e61d7b8e2dee1611e20954307f36', '\x3df2599a15a772017ba733ca9fa27c42', '\x15176b90b50f13780faedfa7fb238c71', 0, NULL);
INSERT INTO public.report VALUES ('\x2ee0651c48f2d2c0016e4aca19e68b2a', '\x5a24e61d7b8e2dee1611e20954307f36', '\x2f3318be3ef36989abc0736eff901d5b', '\x1c16f08eae42616c64df3e9214a2c7a9', 1, NULL);
INSERT INTO public.report VALUES ('\x2ee0651c48f2d2c0016e4aca19e68b2a', '\x5a24e61d7b8e2dee1611e20954307f36', '\xa573fb618104f24b45480a15795929d9', '\x92335cb1b88844f2756593b28de65ed3', 1, NULL);
INSERT INTO public.report VALUES ('\x2ee0651c48f2d2c0016e4aca19e68b2a', '\x509014006aabe6c601464e2fa51506e5', '\x3df2599a15a772017ba733ca9fa27c42', '\x06a17524e832bad1cf7d634335022620', 1, NULL);
INSERT INTO public.report VALUES ('\x2ee0651c48f2d2c0016e4aca19e68b2a', '\x509014006aabe6c601464e2fa51506e5', '\x2f3318be3ef36989abc0736eff901d5b', '\xde1deb7bf8ff7515682eef69c225d19e', 0, NULL);
INSERT INTO public.report VALUES ('\x2ee0651c48f2d2c0016e4aca19e68b2a', '\x509014006aabe6c601464e2fa51506e5', '\xa573fb618104f24b45480a15795929d9', '\x8c465429bd5584ad82c7d08ee69c9f15', 0, NULL);
INSERT INTO public.report VALUES ('\xbd58d1bac5f199591faf576ef4eba4a8', '\x61f159f018ae3d15f70b02001c691cd9', '\x31b045dad71d2f86fe6ad3a98dd353e9', '\x13437c8e8997480b24fda89ba1c8ad10', 1, NULL);
INSERT INTO public.report VALUES ('\xbd58d1bac5f199591faf576ef4eba4a8', '\x61f159f018ae3d15f70b02001c691cd9', '\xdfca48a59bb0a67cce52f5c20c17e827', '\x3f2ea90d44de8214b690abfc42c56148', 0, NULL);
INSERT INTO public.report VALUES ('\xbd58d1bac5f199591faf576ef4eba4a8', '\x1394e2b6d03bc69441e8b0113a3a7dc5', '\x31b045dad71d2f86fe6ad3a98dd353e9', '\xc85c45656b0ce0cfacf7ff7cf458d8c1', 1, NULL);
INSERT INTO public.report VALUES ('\xbd58d1bac5f199591faf576ef4eba4a8', '\x1394e2b6d03bc69441e8b0113a3a7dc5', '\xdfca48a59bb0a67cce52f5c20c17e827', '\x239abb8b11feb430648e77e88aade066', 1, NULL);
INSERT INTO public.report VALUES ('\xbd58d1bac5f199591faf576ef4eba4a8', '\xf1b529a89c90cd5569f6931d309194d3', '\x31b045dad71d2f86fe6ad3a98dd353e9', '\x0fc51942b1831d500b54086a5e6ffbce', 1, NULL);
INSERT INTO public.report VALUES ('\xbd58d1bac5f199591faf576ef4eba4a8', '\xf1b529a89c90cd5569f6931d309194d3', '\xdfca48a59bb0a67cce52f5c20c17e827', '\x8bcf98a0967dcbd1ce3cd6a702d50cc7', 0, NULL);
INSERT INTO public.requester VALUES ('\x77de92878538a46055e3690ecf653cff', 'requester 7434026c81e1c303');
INSERT INTO public.sketch VALUES ('\x41809b3049f2aaf9233d3573ae114ca4', '\x54c946c715fe3373bfcce12975fe139a', '\x892297e23f9704978b32c626e6931679', '\xda28fc4a0200000058b68423ffffffff');
INSERT INTO public.sketch VALUES ('\x41809b3049f2aaf9233d3573ae114ca4', '\x4522d72278ce7736ae502938dea2736a', '\xa385e9c1120bfa98eaeeb72341cb33ce', '\x377df634feffffff798bf30efeffffff');
INSERT INTO public.task VALUES ('\x2f3318be3ef36989abc0736eff901d5b', '\x2ee0651c48f2d2c0016e4aca19e68b2a', 1, 't0', '{"question":"Is it 0?"}', NULL);
INSERT INTO public.task VALUES ('\xa573fb618104f24b45480a15795929d9', '\x2ee0651c48f2d2c0016e4aca19e68b2a', 2, 't1', '{"question":"Is it 1?"}', NULL);
INSERT INTO public.task VALUES ('\xf0ce94bf3e4098f136c687ff3ebaf952', '\x2ee0651c48f2d2c0016e4aca19e68b2a', 3, 't2', '{"question":"Is it 2?"}', NULL);
INSERT INTO public.task VALUES ('\x3df2599a15a772017ba733ca9fa27c42', '\x2ee0651c48f2d2c0016e4aca19e68b2a', 4, 't3', '{"question":"Is it 3?"}', NULL);
INSERT INTO public.task VALUES ('\x3f82710664e2ca0c4bb0e3d4f0acd6a2', '\x41809b3049f2aaf9233d3573ae114ca4', 1, 't0', '{"question":"Is it 0?"}', NULL);
INSERT INTO public.task VALUES ('\x734e6cf3b1e1b028600d99e6c4d82de1', '\x41809b3049f2aaf9233d3573ae114ca4', 2, 't1', '{"question":"Is it 1?"}', NULL);
INSERT INTO public.task VALUES ('\x27e936213564fe7b234efade0feff1ab', '\x41809b3049f2aaf9233d3573ae114ca4', 3, 't2', '{"question":"Is it 2?"}', NULL);
INSERT INTO public.task VALUES ('\x31b045dad71d2f86fe6ad3a98dd353e9', '\xbd58d1bac5f199591faf576ef4eba4a8', 1, 'a', '{"question":"Is it a?"}', '"yes"');
INSERT INTO public.task VALUES ('\xe878842f15c943d2f40d10ac47b79bf3', '\xbd58d1bac5f199591faf576ef4eba4a8', 2, 'b', '{"question":"Is it b?"}', NULL);
INSERT INTO public.task VALUES ('\xdfca48a59bb0a67cce52f5c20c17e827', '\xbd58d1bac5f199591faf576ef4eba4a8', 3, 'c', '{"question":"Is it c?"}', '"no"');
INSERT INTO public.task VALUES ('\xe5e93c40cf3adc09e8b4632d43b40c38', '\xcbe5e1d8cdf23c1f60a2edf6a63a3ca5', 1, 'x', '{"question":"Is it x?"}', NULL);
INSERT INTO public.withdrawn VALUES ('\x2ee0651c48f2d2c0016e4aca19e68b2a', '\x2eef24a2090da8c16a877898b978f52c33bc57eeee1b61122dcb20f7f6684c08');
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (token_sha256);
ALTER TABLE ONLY public.campaign
    ADD CONSTRAINT campaign_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.inference
    ADD CONSTRAINT inference_pkey PRIMARY KEY (campaign_id);
ALTER TABLE ONLY public.invite
    ADD CONSTRAINT invite_pkey PRIMARY KEY (campaign_id, token_sha256);
ALTER TABLE ONLY public.participant
    ADD CONSTRAINT participant_campaign_id_id_key UNIQUE (campaign_id, id);
ALTER TABLE ONLY public.participant
    ADD CONSTRAINT participant_campaign_id_pseudonym_key UNIQUE (campaign_id, pseudonym);
ALTER TABLE ONLY public.participant
    ADD CONSTRAINT participant_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.report
    ADD CONSTRAINT report_campaign_id_report_id_key UNIQUE (campaign_id, report_id);
ALTER TABLE ONLY public.report
    ADD CONSTRAINT report_pkey PRIMARY KEY (campaign_id, participant_id, task_id);
ALTER TABLE ONLY public.requester
    ADD CONSTRAINT requester_name_key UNIQUE (name);
ALTER TABLE ONLY public.requester
    ADD CONSTRAINT requester_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sketch
    ADD CONSTRAINT sketch_campaign_id_report_id_key UNIQUE (campaign_id, report_id);
ALTER TABLE ONLY public.sketch
    ADD CONSTRAINT sketch_pkey PRIMARY KEY (campaign_id, participant_id);
ALTER TABLE ONLY public.task
    ADD CONSTRAINT task_campaign_id_name_key UNIQUE (campaign_id, name);
ALTER TABLE ONLY public.task
    ADD CONSTRAINT task_campaign_id_position_key UNIQUE (campaign_id, "position");
ALTER TABLE ONLY public.task
    ADD CONSTRAINT task_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.withdrawn
    ADD CONSTRAINT withdrawn_pkey PRIMARY KEY (campaign_id, credential_hash);
CREATE INDEX ix_campaign_requester_id ON public.campaign USING btree (requester_id);
ALTER TABLE ONLY public.api_key
    ADD CONSTRAINT api_key_requester_id_fkey FOREIGN KEY (requester_id) REFERENCES public.requester(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.campaign
    ADD CONSTRAINT campaign_requester_id_fkey FOREIGN KEY (requester_id) REFERENCES public.requester(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.inference
    ADD CONSTRAINT inference_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES public.campaign(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.invite
    ADD CONSTRAINT invite_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES public.campaign(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.participant
    ADD CONSTRAINT participant_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES public.campaign(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.report
    ADD CONSTRAINT report_campaign_id_participant_id_fkey FOREIGN KEY (campaign_id, participant_id) REFERENCES public.participant(campaign_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sketch
    ADD CONSTRAINT sketch_campaign_id_participant_id_fkey FOREIGN KEY (campaign_id, participant_id) REFERENCES public.participant(campaign_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY public.task
    ADD CONSTRAINT task_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES public.campaign(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.withdrawn
    ADD CONSTRAINT withdrawn_campaign_id_fkey FOREIGN KEY (campaign_id) REFERENCES public.campaign(id) ON DELETE CASCADE;
