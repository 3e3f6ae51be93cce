/** Belongs to the fleet: nodes have none of their own. */
export const CREDENTIAL = 'credential-of-the-simulation';
