import { useQuery } from '@tanstack/react-query';
import { MessagesSquare } from '../../ui/icons.tsx';
import { bookedQuery } from '../../api/usage.ts';
import { paths } from '../../paths.ts';
import { TextLink } from '../../ui/forms/button.tsx';
import { formatCount } from '../../ui/format.ts';
import { EmptyState } from '../../ui/states.tsx';
import { useSpeech, useWords } from '../../words/words.ts';
import { RunningCharge } from './running-charge.tsx';
import type { Turn, TurnTokens } from './use-conversation.ts';

/** Shows what was said, and what each answer was charged. */
export function Turns({
  turns,
  isRunning,
  modelId,
}: {
  turns: readonly Turn[];
  isRunning: boolean;
  modelId: number;
}) {
  const { playground } = useWords();
  if (turns.length === 0)
    return (
      <EmptyState icon={<MessagesSquare aria-hidden />} title={playground.empty}>
        {playground.emptyText}
      </EmptyState>
    );
  return (
    <ol aria-live="polite" aria-busy={isRunning} className="flex flex-col gap-4">
      {turns.map((turn, index) => (
        <li key={index} className={turn.role === 'user' ? 'flex justify-end' : ''}>
          {turn.role === 'user' ? (
            <p className="foreign max-w-[85%] rounded-lg bg-accent-soft px-3 py-2 whitespace-pre-wrap">
              <span className="sr-only">{playground.you}: </span>
              {turn.content}
            </p>
          ) : (
            <Answer
              turn={turn}
              isAnswering={isRunning && index === turns.length - 1}
              modelId={modelId}
            />
          )}
        </li>
      ))}
    </ol>
  );
}

function Answer({
  turn: { content, problem, requestId, isStopped = false, tokens },
  isAnswering,
  modelId,
}: {
  turn: Turn;
  isAnswering: boolean;
  modelId: number;
}) {
  const { playground } = useWords();
  return (
    <div className="flex flex-col gap-1.5">
      {content !== '' && <p className="foreign whitespace-pre-wrap">{content.trimStart()}</p>}
      {isAnswering && content === '' && (
        <span
          role="status"
          aria-label={playground.answering}
          className="size-2 animate-pulse rounded-full bg-accent"
        />
      )}
      {isAnswering && tokens && <RunningCharge modelId={modelId} tokens={tokens} />}
      {problem !== undefined && (
        <p role="alert" className="foreign rounded-md bg-bad-soft px-3 py-2 text-bad">
          {problem}
        </p>
      )}
      {isStopped && <p className="text-table text-text-3">{playground.stopped}</p>}
      {!isAnswering && requestId !== undefined && problem === undefined && (
        <Charge requestId={requestId} tokens={tokens} />
      )}
    </div>
  );
}

const ASK_MS = 500;

/** Shows the charge, once the request is booked. */
function Charge({ requestId, tokens }: { requestId: string; tokens: TurnTokens | undefined }) {
  const { words, locale } = useSpeech();
  const { playground } = words;
  const { data } = useQuery({
    ...bookedQuery(requestId),
    refetchInterval: ({ state }) => (state.data ? false : ASK_MS),
  });
  return (
    <p className="flex flex-wrap gap-x-3 text-table text-text-3">
      {tokens && (
        <span className="tabular">
          {playground.inOut(formatCount(tokens.input, locale), formatCount(tokens.output, locale))}
        </span>
      )}
      <span>
        {data ? playground.charged(formatCount(data.charge, locale)) : playground.counting}
      </span>
      <TextLink to={paths.request(requestId)}>{playground.seeRequest}</TextLink>
    </p>
  );
}
