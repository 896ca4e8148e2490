-- Columns of a fold come in a brief form: one value when it is the same in all rows, and times as milliseconds. PostgreSQL took
-- longer to read the texts of a row, times above all, than to store it.
create function millrace.each(list anyarray, rows integer) returns anyarray immutable language sql as $$
  select case when rows > 1 and cardinality(list) = 1 then array_fill(list[1], array[rows]) else list end
$$;

-- In days and the rest of a day: a number of seconds or milliseconds would be rounded for times that are far away.
create function millrace.instants(ms bigint[]) returns timestamptz[] stable language sql as $$
  select case when ms is null then null else array(
    select timestamptz 'epoch' + make_interval(
        days => (u.ms / 86400000)::integer, secs => (u.ms % 86400000)::double precision / 1000)
      from unnest(ms) as u(ms)) end
$$;
