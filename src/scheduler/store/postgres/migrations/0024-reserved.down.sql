-- The number is taken by another change, which brings its own script.
select 1;
