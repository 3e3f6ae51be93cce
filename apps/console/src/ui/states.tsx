import { CircleAlert } from './icons.tsx';
import { useEffect, useState, type ReactNode } from 'react';
import { failureOf } from '../api/failure.ts';
import { useWords } from '../words/words.ts';
import { Button } from './forms/button.tsx';
import { RequestId } from './request-id.tsx';

const SKELETON_AFTER_MS = 150;

/** Nothing is here yet: says what the place is for and what to do first. */
export function EmptyState({
  icon,
  title,
  children,
  action,
}: {
  icon?: ReactNode;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-12 text-center">
      {icon !== undefined && <div className="text-text-3 [&>svg]:size-6">{icon}</div>}
      <p className="font-medium">{title}</p>
      {children !== undefined && <div className="max-w-md text-text-2">{children}</div>}
      {action !== undefined && <div className="mt-2">{action}</div>}
    </div>
  );
}

/** Shows what could not be loaded, why, and the way to try again. */
export function FailureState({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const words = useWords();
  const { title, detail, requestId } = failureOf(error, words);
  return (
    <div role="alert" className="flex flex-col items-center gap-2 px-6 py-12 text-center">
      <CircleAlert aria-hidden className="size-6 text-bad" />
      <p className="font-medium">{title}</p>
      <div className="foreign flex max-w-md flex-col items-center text-text-2">
        {detail ?? words.failures.loadFailed}
        {requestId !== undefined && <RequestId id={requestId} />}
      </div>
      <Button className="mt-2" onClick={onRetry}>
        {words.general.tryAgain}
      </Button>
    </div>
  );
}

/** Shows grey bars in place of what is coming, only once the wait is long enough to be noticed. */
export function Skeleton({ rows = 3, className = '' }: { rows?: number; className?: string }) {
  const { general } = useWords();
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), SKELETON_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div
      role="status"
      aria-busy
      aria-label={general.loading}
      className={`flex flex-col gap-3 p-4 ${className}`}
    >
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className={isShown ? 'skeleton h-5' : 'h-5'} />
      ))}
    </div>
  );
}

export interface Loadable<Data> {
  data: Data | undefined;
  error: unknown;
  refetch: () => unknown;
}

/** Shows the three states of everything that is asked for: what is known stays on screen while it is asked for again. */
export function Loaded<Data>({
  of: { data, error, refetch },
  skeleton,
  children,
}: {
  of: Loadable<Data>;
  skeleton?: ReactNode;
  children: (data: Data) => ReactNode;
}) {
  if (data !== undefined) return children(data);
  if (error !== null && error !== undefined)
    return <FailureState error={error} onRetry={() => void refetch()} />;
  return skeleton ?? <Skeleton />;
}
