/** Holds what the chaos run checks with. */
export { auditBooks } from './books/audit-books.ts';
export { countVerdicts, describeFindings, isSound, type Finding } from './books/finding.ts';
export type { ClientRecord, Target } from './load/client-record.ts';
export { compareUsage, isExhausted, tokensReported } from './load/compare-usage.ts';
export { demoRecordSchema, readDemoRecord, type DemoRecord } from './load/demo-record.ts';
export {
  chatModels,
  createLoadModels,
  modelOf,
  MULTIPLIERS,
  TIERS,
  premiumsOf,
  type LoadModels,
} from './load/load-models.ts';
export { planRequests, randomFrom, SHORT_CHAT, type RequestPlan } from './load/plan-requests.ts';
export { closeClient, sendRequest } from './load/send-request.ts';
export { chargeFor, readUsage, type UsageRow } from './load/usage-rows.ts';
