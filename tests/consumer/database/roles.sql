-- Run once, by whoever creates roles on the cluster. The owner migrates, and the login serves.
do $$
begin
  create role orders_owner nologin;
  create role orders_app login;
exception when duplicate_object or unique_violation then
  null;
end
$$;
grant tenant_table_owner to orders_owner with inherit true;
grant tenant_bound to orders_app with inherit true, set false;
alter role orders_app password 'orders';
alter role orders_app set statement_timeout = '2s';
alter role orders_app set lock_timeout = '1500ms';
alter role orders_app set idle_in_transaction_session_timeout = '10s';
alter role orders_app set transaction_timeout = '1s';
