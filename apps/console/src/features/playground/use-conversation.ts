import { useRef, useState } from 'react';
import { failureOf } from '../../api/failure.ts';
import {
  callModel,
  createTemporaryKey,
  type CallSettings,
  type Message,
  type Protocol,
  type Tokens,
} from '../../api/playground.ts';
import { useWords } from '../../words/words.ts';
import { estimateTokens } from './estimate.ts';

export interface Turn extends Message {
  /** Identifies the request of an answer. */
  requestId?: string | undefined;
  problem?: string | undefined;
  isStopped?: boolean;
  tokens?: TurnTokens;
}

/** Counts the tokens of one answer: estimated while it streams, then as the model counted them. */
export type TurnTokens = Tokens;

export interface Choice {
  model: string;
  modelId: number;
  protocol: Protocol;
  keyId: number | undefined;
  settings: CallSettings;
}

/** Before its end a key is not used for a new call. */
const SPARE_MS = 30_000;

interface HeldKey {
  keyId: number | undefined;
  secret: string;
  endsAt: number;
}

/** Keeps a conversation with a model: what was said, and the call that runs. */
export function useConversation() {
  const words = useWords();
  const { turns, setTurns, changeLast, count } = useTurns();
  const [isRunning, setRunning] = useState(false);
  const running = useRef<AbortController>(undefined);
  const secretFor = useTemporaryKey();
  const send = async (text: string, choice: Choice): Promise<void> => {
    const { model, protocol, keyId, settings } = choice;
    const asked: Turn[] = [...spoken(turns), { role: 'user', content: text }];
    const input = inputOf(settings, asked);
    setTurns([...asked, { role: 'assistant', content: '', tokens: { input, output: 0 } }]);
    setRunning(true);
    const controller = new AbortController();
    running.current = controller;
    try {
      const outcome = await callModel({
        ...settings,
        model,
        protocol,
        secret: await secretFor(keyId),
        messages: asked.map(({ role, content }) => ({ role, content })),
        signal: controller.signal,
        onText: (part) => changeLast((turn) => withText(turn, turn.content + part)),
        onTokens: count,
      });
      changeLast((turn) => ({ ...turn, ...outcome }));
    } catch (error) {
      if (controller.signal.aborted) changeLast((turn) => ({ ...turn, isStopped: true }));
      else changeLast((turn) => ({ ...turn, problem: failureOf(error, words).title }));
    } finally {
      setRunning(false);
    }
  };
  const stop = (): void => running.current?.abort();
  const restart = (): void => (stop(), setTurns([]));
  return { turns, isRunning, send, stop, restart };
}

function inputOf({ system }: CallSettings, turns: readonly Turn[]): number {
  return [system, ...turns.map(({ content }) => content)]
    .map(estimateTokens)
    .reduce((sum, tokens) => sum + tokens, 0);
}

function useTurns() {
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const changeLast = (change: (turn: Turn) => Turn): void =>
    setTurns((old) => old.map((turn, index) => (index === old.length - 1 ? change(turn) : turn)));
  const count = (tokens: Partial<Tokens>): void =>
    changeLast((turn) => ({
      ...turn,
      tokens: { ...(turn.tokens ?? { input: 0, output: 0 }), ...tokens },
    }));
  return { turns, setTurns, changeLast, count };
}

/** Returns the secret of a key that lasts for this call. One key is used until shortly before its end. */
function useTemporaryKey(): (keyId: number | undefined) => Promise<string> {
  const held = useRef<HeldKey>(undefined);
  return async (keyId) => {
    const { current } = held;
    if (current && current.keyId === keyId && current.endsAt - SPARE_MS > Date.now())
      return current.secret;
    const { key, expires_at: end } = await createTemporaryKey(keyId);
    // The secret is null only for a repeat, which is asked for by a header that is not sent here.
    if (key === null) throw new Error('the temporary key came without its secret');
    held.current = { keyId, secret: key, endsAt: Date.parse(end) };
    return key;
  };
}

/** Returns the turn with the answer so far, and about as many tokens as the answer has. */
function withText(turn: Turn, content: string): Turn {
  const { input } = turn.tokens ?? { input: 0 };
  return { ...turn, content, tokens: { input, output: estimateTokens(content) } };
}

/** Returns the turns that are sent to the model again: an answer that failed is none. */
function spoken(turns: readonly Turn[]): Turn[] {
  const kept: Turn[] = [];
  for (const turn of turns) {
    if (turn.role === 'assistant' && turn.content === '') kept.pop();
    else kept.push(turn);
  }
  return kept;
}
