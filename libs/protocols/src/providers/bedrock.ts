import { readConverseUsage } from '../answers/converse/converse-usage.ts';
import { converseDialect, modelPath } from '../messages-to-converse/dialect.ts';
import { AwsEventFramer, type AwsMessage } from '../sse/aws-event-framer.ts';
import { claudeModel } from '../translation/claude-model.ts';
import { throughMessages } from '../through-messages/exchanges.ts';
import { awsSignature } from './aws-signature.ts';
import { byModel, claudeOf, type ClaudeHost } from './hosted-claude.ts';
import { PROBE_OUTPUT_TOKENS } from './probe.ts';
import { keyOf, type Provider } from './provider.ts';

/** Describes InvokeModel of Claude: https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html */
const CLAUDE: ClaudeHost = {
  version: 'bedrock-2023-05-31',
  left: ['stream'],
  betasIn: 'body',
  path: (model, isStream) => modelPath(model, isStream ? 'invoke-with-response-stream' : 'invoke'),
  streamHeaders: { accept: 'application/vnd.amazon.eventstream' },
  openFramer: () => new AwsEventFramer(claudeEvent),
};

/** Serves Amazon Bedrock: Claude by its own protocol, every other model by Converse. */
export const bedrock: Provider = {
  sign: (request, signing) =>
    signing.auth.type === 'aws'
      ? awsSignature(request, { auth: signing.auth, service: 'bedrock', nowMs: signing.nowMs })
      : { authorization: `Bearer ${keyOf(signing)}` },
  exchanges: byModel(isClaude, claudeOf(CLAUDE), throughMessages(converseDialect)),
  probe: (model, kind) =>
    kind === 'embedding'
      ? null
      : {
          path: modelPath(model, 'converse'),
          body: {
            messages: [{ role: 'user', content: [{ text: 'Say ok.' }] }],
            inferenceConfig: { maxTokens: PROBE_OUTPUT_TOKENS },
          },
          headers: {},
        },
  // The host of Bedrock's control plane has the list.
  models: null,
  continuesPrefill: (model) => isClaude(model) && claudeModel(model).takesPrefill,
  readUsage: ({ usage }) => readConverseUsage(usage),
};

/** Returns true for `us.anthropic.claude-haiku-4-5-20251001-v1:0`, or an ARN that ends so. */
function isClaude(model: string): boolean {
  return /(?:^|[./])anthropic\.claude/.test(model);
}

/** A chunk holds an event of messages; it leaves with its own bytes. */
function claudeEvent({ payload }: AwsMessage): string {
  const { bytes } = JSON.parse(payload.toString('utf8'));
  if (typeof bytes !== 'string') return ': \n\n';
  const data = Buffer.from(bytes, 'base64')
    .toString('utf8')
    .replaceAll(/[\r\n]+/g, ' ');
  return `event: ${typeOf(data)}\ndata: ${data}\n\n`;
}

function typeOf(data: string): string {
  const type = /^\{"type":"([a-z_]+)"/.exec(data)?.[1];
  return type ?? String(JSON.parse(data).type);
}
