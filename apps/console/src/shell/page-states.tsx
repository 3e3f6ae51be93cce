import { useRouter, type ErrorComponentProps } from '@tanstack/react-router';
import { AdminRefusal } from '@tollgate/admin-client';
import { Compass, TriangleAlert } from '../ui/icons.tsx';
import { paths } from '../paths.ts';
import { Button, ButtonLink } from '../ui/forms/button.tsx';
import { EmptyState, FailureState } from '../ui/states.tsx';
import { useWords } from '../words/words.ts';

export function PageNotFound() {
  const { failures } = useWords();
  return (
    <div className="mx-auto max-w-xl pt-24">
      <h1 className="sr-only">{failures.notFound}</h1>
      <EmptyState
        icon={<Compass aria-hidden />}
        title={failures.notFound}
        action={<ButtonLink to={paths.home()}>{failures.goHome}</ButtonLink>}
      >
        {failures.notFoundHelp}
      </EmptyState>
    </div>
  );
}

/** Shows a page that could not even begin: the server is away, or the page itself has a bug. */
export function PageFailure({ error, reset }: ErrorComponentProps) {
  const { failures } = useWords();
  const router = useRouter();
  const again = (): void => {
    reset();
    void router.invalidate();
  };
  const isServer = error instanceof AdminRefusal || error instanceof TypeError;
  return (
    <main className="mx-auto max-w-xl pt-24">
      {isServer ? (
        <FailureState error={error} onRetry={again} />
      ) : (
        <EmptyState
          icon={<TriangleAlert aria-hidden />}
          title={failures.pageBroke}
          action={<Button onClick={() => window.location.reload()}>{failures.reload}</Button>}
        >
          {failures.pageBrokeHelp}
        </EmptyState>
      )}
    </main>
  );
}
