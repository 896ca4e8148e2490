/** The least that a queue in PostgreSQL can do: lease a batch, complete a batch. No fences, no log. */
export const TABLE = `
  create schema raw;
  create table raw.job (id bigint generated always as identity primary key, state smallint not null,
    leased_at timestamptz, done_at timestamptz, input text not null, result text)
    with (fillfactor = 40);
  create index job_live on raw.job (id) where state < 2;`;

export const INSERT = 'insert into raw.job (state, input) select 0, unnest($1::text[])';

export const LEASE = `
  update raw.job set state = 1, leased_at = now() where id = any (array(
    select id from raw.job where state < 2 and state = 0 order by id limit 500
    for update skip locked))
  returning id, input`;

export const COMPLETE = `
  update raw.job j set state = 2, done_at = now(), result = u.result
    from (select unnest($1::bigint[]) as id, unnest($2::text[]) as result) u
   where j.id = u.id and j.state = 1`;

export const LIVE = 'select /* look */ id from raw.job where state < 2 order by id desc limit 1';

/** How long a worker that found nothing waits. */
export const IDLE_MS = 1;

/** Else a plan that was made while the table was empty scans it for every batch. */
export const PLANS = { enable_seqscan: 'off', enable_hashjoin: 'off', enable_mergejoin: 'off' };
