import { lazy, Suspense, useState } from 'react';
import { updateRoute, type Route } from '../../api/upstreams.ts';
import { useAct } from '../../ui/forms/act.ts';
import { Button } from '../../ui/forms/button.tsx';
import { Ellipsis } from '../../ui/icons.tsx';
import { Menu, type MenuAct } from '../../ui/menu.tsx';
import { useNarrow } from '../../ui/use-narrow.ts';
import { useWords } from '../../words/words.ts';

const RouteDialog = lazy(async () => ({
  default: (await import('./route-dialog.tsx')).RouteDialog,
}));
const DeleteRoute = lazy(async () => ({
  default: (await import('./delete-route.tsx')).DeleteRoute,
}));

interface RouteActsProps {
  of: Route;
  /** Counts the requests of the last 24 hours. */
  carried: number;
}

export function RouteActs({ of: route, carried }: RouteActsProps) {
  const { routing } = useWords().admin;
  const [open, setOpen] = useState<'edit' | 'delete'>();
  const close = (): void => setOpen(undefined);
  const { isBusy, run } = useAct({
    act: () => updateRoute(route.id, { enabled: !route.enabled }),
    done: () => routing.saved,
  });
  const acts = [
    {
      label: route.enabled ? routing.disable : routing.enable,
      onAct: () => run(undefined),
      isBusy,
    },
    { label: routing.edit, onAct: () => setOpen('edit') },
    { label: routing.remove, onAct: () => setOpen('delete'), isDanger: true },
  ];
  return (
    <>
      <Acts acts={acts} />
      <Suspense fallback={null}>
        {open === 'edit' && <RouteDialog of={route} isOpen onClose={close} />}
        {open === 'delete' && <DeleteRoute of={route} carried={carried} onClose={close} />}
      </Suspense>
    </>
  );
}

/** Shows the acts as buttons, and as a menu where there is no room for buttons. */
function Acts({ acts }: { acts: readonly (MenuAct & { isBusy?: boolean })[] }) {
  const { general } = useWords();
  if (useNarrow())
    return (
      <Menu
        trigger={
          <Button size="small" aria-label={general.actions}>
            <Ellipsis aria-hidden className="size-4" />
          </Button>
        }
        acts={acts}
      />
    );
  return (
    <span className="inline-flex gap-2">
      {acts.map(({ label, onAct, isDanger = false, isBusy = false }) => (
        <Button
          key={label}
          size="small"
          look={isDanger ? 'danger' : 'secondary'}
          isBusy={isBusy}
          onClick={onAct}
        >
          {label}
        </Button>
      ))}
    </span>
  );
}
