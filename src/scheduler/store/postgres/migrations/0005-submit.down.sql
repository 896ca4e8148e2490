drop function millrace.submit(jsonb);
