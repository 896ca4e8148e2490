-- Kept free: numbers follow on each other.
select 1;
