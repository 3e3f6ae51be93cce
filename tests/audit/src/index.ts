export { auditBooks } from './books/audit-books.ts';
export { auditLoad } from './load/audit-load.ts';
