/** What the control plane finds: alerts by rule, the equalities of the books, what keeps a node from being well. */
export const adminFindings = {
  rules: {
    node_offline: 'A node is offline',
    node_refuses_snapshot: 'A node refuses the configuration',
    bad_node_proof: 'A node is not what it says',
    snapshot_pinned: 'Publication is pinned',
    publication_failed: 'Changes cannot be published',
    upstream_failing: 'An upstream fails',
    upstream_overruns: 'An upstream answers more than it was asked for',
    usage_doubted: 'An upstream reports usage that is in doubt',
    settlement_backlog: 'Usage waits to be booked',
    journal_set_aside: 'A part of a journal cannot be read',
    dead_letter: 'Usage cannot be booked',
    drift: 'A balance differed from its ledger',
    redis_tampered: 'Redis was changed by someone else',
    redis_data_lost: 'Redis lost data',
    restore_open: 'A restore is not finished',
    overdraft: 'A balance is below zero',
    low_balance: 'Tokens run low',
    auto_recharge_failed: 'A recharge failed',
    payout_unsettled: 'A payout has no outcome',
    model_not_priced: 'A model for sale has no price',
  },
  equalities: {
    ledger_transactions: {
      title: 'Ledger transactions',
      says: 'The entries of each transaction sum to zero',
    },
    wallets: { title: 'Wallets', says: 'Each ledger balance is the sum of its entries' },
    payouts: {
      title: 'Payouts',
      says: 'No payment is paid back beyond its amount, and each payout is in the ledger',
    },
    token_balances: {
      title: 'Token balances',
      says: 'Each token balance is the sum of its ledger entries',
    },
    token_lots: { title: 'Purchases', says: 'Each token balance is what its purchases hold' },
    overdrafts: { title: 'Overdrafts', says: 'Each overdraft is the sum of its rows' },
    daily_rollups: { title: 'Usage by day', says: 'Each day of usage is the sum of its hours' },
    totals: {
      title: 'Totals',
      says: 'The totals of all accounts are the sums of the accounts',
    },
    daily_totals: {
      title: 'Totals by day',
      says: 'The totals of each day are the sums of the accounts',
    },
    live_balances: {
      title: 'Balances in Redis',
      says: 'Each balance in Redis is what the ledger determines',
    },
  },
  behindTitle: 'Nodes that are behind',
  lags: {
    state: (state: string) => `The node is ${state.toLowerCase()}`,
    silent: (workers: string) => `${workers} of its workers do not report`,
    refused: (reason: string) => `It refuses the newest configuration: ${reason}`,
    behind: (versions: string) => `It is ${versions} behind, and its acknowledgement is awaited`,
  },
};
