export { AdminClient, AdminRefusal, type NewKey, type NewModel, type NewPrice, type NewRoute, type NewSubscription, type NewUpstream, type SyncResult } from '@tollgate/tools';
export { createCustomer, createDemoUpstream, createRoutedModel, subscribeWithKey, type Customer, type RoutedModel, type RoutedModelOptions } from './customer.ts';
export { startServices, type Services, type ServicesOptions } from './services.ts';
export { startTollgate, type StoreUrls, type Tollgate, type TollgateOptions } from './tollgate.ts';
