/**
 * Says who may import whom (docs/architecture.md, "Walls"). `tools/check/planted` holds one violation of each rule;
 * `npm run check` fails when a planted violation is not reported, so no rule can die unnoticed.
 */
const { readFileSync } = require('node:fs');
const { basename, join } = require('node:path');

const LIBRARIES = [
  'money',
  'contracts',
  'snapshot',
  'metering',
  'protocols',
  'keyspace',
  'admin-client',
  'tracing',
  'outbound',
];
/** The order is money <- contracts <- snapshot <- metering <- protocols; keyspace is beside metering. */
const MAY_IMPORT = {
  money: [],
  contracts: ['money'],
  snapshot: ['money', 'contracts'],
  metering: ['money', 'contracts', 'snapshot'],
  protocols: ['contracts', 'metering'],
  keyspace: ['contracts', 'snapshot'],
  // It knows the API document and nothing else.
  'admin-client': [],
  tracing: ['contracts'],
  outbound: ['contracts'],
};
const NODE_IO =
  '^(node:)?(fs|net|http|https|http2|dgram|tls|child_process|cluster|worker_threads|dns)(/|$)';
/** Matches a bare name too: a package that the importing folder may not even declare. */
const npm = (...names) => `(^|node_modules/)(${names.join('|')})(/|$)`;
/** Matches the real tree and the planted one alike. */
const at = (path) => `^(?:tools/check/planted/)?${path}`;

const PIPELINE = 'apps/proxy-node/src/pipeline';
/** Stages and the files that order them use these functions and errors alike. */
const SHARED_BY_STAGES = new Set([
  'answer-meter',
  'attempt',
  'client-request',
  'cut-answer',
  'no-answer',
  'premiums',
  'stored-routes',
]);
/** Lists the files that know an order: of the stages, of the attempts, of the models. */
const ORDERS = ['request-life', 'failover', 'first-try', 'fallback-turn', 'rest-of-answer'];
/** Every file that request-life.ts or failover.ts runs is a stage, and so are those whose objects it is given. */
const STAGES = [
  ...['admission/admit', 'sending/forward', 'failover'],
  ...['request-life', 'failover'].flatMap((name) =>
    [
      ...readFileSync(join(__dirname, `${PIPELINE}/${name}.ts`), 'utf8').matchAll(
        /^import (?!type)[^;]* from '\.\/([^']+)\.ts';/gm,
      ),
    ].map(([, stage]) => stage),
  ),
].filter((name) => !SHARED_BY_STAGES.has(basename(name)) && !ORDERS.slice(2).includes(name));

const libraryOrder = LIBRARIES.map((name) => ({
  name: `library-order-${name}`,
  severity: 'error',
  comment: `libs/${name} may import ${MAY_IMPORT[name].join(', ') || 'no other library'}.`,
  from: { path: at(`libs/${name}/`) },
  to: {
    path: at(
      `libs/(${LIBRARIES.filter((other) => other !== name && !MAY_IMPORT[name].includes(other)).join('|')})/`,
    ),
  },
}));

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      comment: 'Cycles hide what depends on what.',
      from: { pathNot: 'entity\\.ts$' },
      to: { circular: true },
    },
    {
      name: 'libraries-never-import-apps',
      severity: 'error',
      from: { path: at('libs/') },
      to: { path: at('apps/') },
    },
    {
      name: 'apps-never-import-apps',
      severity: 'error',
      from: { path: at('apps/([^/]+)/') },
      to: { path: at('apps/([^/]+)/'), pathNot: '^(?:tools/check/planted/)?apps/$1/' },
    },
    {
      name: 'libraries-through-their-front-door',
      severity: 'error',
      comment:
        'A library is imported through its index.ts only; the tokenizer has an entry of its own, as its table is read at once: some hundredths of a second, and twenty megabytes.',
      from: { path: at('(apps|libs/[^/]+|tests)/') },
      to: {
        path: at('libs/[^/]+/src/'),
        pathNot: [
          'libs/[^/]+/src/index\\.ts$',
          'libs/metering/src/token-counter\\.ts$',
          '^(?:tools/check/planted/)?$1/',
        ],
      },
    },
    ...libraryOrder,
    {
      name: 'pure-libraries-do-no-io',
      severity: 'error',
      comment: 'But for the table of the tokenizer, a file of its package.',
      from: {
        path: at('libs/(money|contracts|snapshot|metering|protocols)/src/'),
        pathNot: ['\\.spec\\.ts$', 'libs/metering/src/token-table\\.ts$'],
      },
      to: { path: [NODE_IO, npm('ioredis', 'pg', 'undici', 'bullmq', 'typeorm')] },
    },
    {
      name: 'only-keyspace-speaks-redis',
      severity: 'error',
      from: {
        path: at('(apps|libs)/[^/]+/src/'),
        pathNot: [at('libs/keyspace/'), '\\.spec\\.ts$'],
      },
      to: { path: npm('ioredis') },
    },
    {
      name: 'only-otlp-tracing-loads-the-sdk-of-traces',
      severity: 'error',
      comment: 'It is loaded only while tracing is on.',
      from: { path: at('(apps|libs)/[^/]+/src/'), pathNot: [at('libs/tracing/src/otlp-tracing')] },
      to: { path: npm('@opentelemetry/[^/]+') },
    },
    {
      name: 'otlp-tracing-is-imported-dynamically',
      severity: 'error',
      from: { path: at('libs/tracing/src/') },
      to: { path: at('libs/tracing/src/otlp-tracing'), dependencyTypesNot: ['dynamic-import'] },
    },
    {
      name: 'only-relay-and-queue-speak-bullmq',
      severity: 'error',
      from: {
        path: at('(apps|libs)/[^/]+/src/'),
        pathNot: [
          at('apps/proxy-node/src/usage/usage-queue'),
          at('apps/control-plane/src/platform/queues/'),
          '\\.spec\\.ts$',
        ],
      },
      to: { path: npm('bullmq') },
    },
    {
      name: 'proxy-node-never-sees-the-database',
      severity: 'error',
      from: { path: at('apps/proxy-node/') },
      to: { path: npm('typeorm', 'pg', '@nestjs/[^/]+') },
    },
    {
      name: 'stages-never-import-stages',
      severity: 'error',
      comment:
        'Only request-life.ts knows the order, and failover.ts that of the attempts within it.',
      from: {
        path: at(`${PIPELINE}/(.+)\\.ts$`),
        pathNot: [`/(pipeline|${ORDERS.join('|')})\\.ts$`, '(\\.spec|-under-test)\\.ts$'],
      },
      to: {
        path: at(`${PIPELINE}/(${STAGES.join('|')})\\.ts$`),
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'the-journal-stands-alone',
      severity: 'error',
      comment:
        'What is written and how it is read back depends on no other part of the node but its clock and timers.',
      from: { path: at('apps/proxy-node/src/journal/'), pathNot: '\\.spec\\.ts$' },
      to: {
        path: at('apps/proxy-node/src/'),
        pathNot: [at('apps/proxy-node/src/journal/'), 'src/(monotonic-ms|timers)\\.ts$'],
      },
    },
    {
      name: 'a-feature-uses-another-features-service-never-its-entity',
      severity: 'error',
      from: { path: at('apps/control-plane/src/features/([^/]+)/'), pathNot: '\\.spec\\.ts$' },
      to: {
        path: at('apps/control-plane/src/features/[^/]+/.*entity\\.ts$'),
        pathNot: '^(?:tools/check/planted/)?apps/control-plane/src/features/$1/',
      },
    },
    {
      name: 'platform-never-imports-features',
      severity: 'error',
      from: { path: at('apps/control-plane/src/platform/'), pathNot: '\\.spec\\.ts$' },
      to: { path: at('apps/control-plane/src/features/') },
    },
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: ['node_modules', '/dist/'] },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['types', 'import', 'default'],
      extensions: ['.ts', '.js', '.json'],
    },
  },
};
