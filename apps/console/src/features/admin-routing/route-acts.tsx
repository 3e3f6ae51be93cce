import { useState } from 'react';
import { deleteRoute, updateRoute, type Route } from '../../api/upstreams.ts';
import { useAct } from '../../ui/act.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { formatCount } from '../../ui/format.ts';
import { Ellipsis } from '../../ui/icons.tsx';
import { Menu, type MenuAct } from '../../ui/menu.tsx';
import { useSpeech, useWords } from '../../words/words.ts';
import { RouteDialog } from './route-dialog.tsx';

interface RouteActsProps {
  of: Route;
  /** Requests of the last 24 hours. */
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
      {open === 'edit' && <RouteDialog of={route} isOpen onClose={close} />}
      {open === 'delete' && <DeleteRoute of={route} carried={carried} onClose={close} />}
    </>
  );
}

/** Buttons, and a menu of the same where there is no room for them. */
function Acts({ acts }: { acts: readonly (MenuAct & { isBusy?: boolean })[] }) {
  const { general } = useWords();
  return (
    <>
      <span className="inline-flex gap-2 max-md:hidden">
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
      <span className="md:hidden">
        <Menu
          trigger={
            <Button size="small" aria-label={general.actions}>
              <Ellipsis aria-hidden className="size-4" />
            </Button>
          }
          acts={acts}
        />
      </span>
    </>
  );
}

function DeleteRoute({ of: route, carried, onClose }: RouteActsProps & { onClose: () => void }) {
  const { words, locale } = useSpeech();
  const { routing } = words.admin;
  return (
    <ConfirmDialog
      title={routing.remove}
      text={
        <>
          {routing.removeText} {carried > 0 && routing.carried(formatCount(carried, locale))}
        </>
      }
      verb={routing.remove}
      isOpen
      onClose={onClose}
      act={() => deleteRoute(route.id)}
      done={() => routing.removed}
    />
  );
}
