drop function millrace.renew(smallint, bigint, text, bigint);
drop function millrace.campaign(smallint, text, text, text, text, bigint);
drop function millrace.backend_start();
