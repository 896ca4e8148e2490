-- Nothing: the number belongs to a change that comes with another branch.
select 1;
