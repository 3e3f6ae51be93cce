import { deleteRoute, type Route } from '../../api/upstreams.ts';
import { ConfirmDialog } from '../../ui/forms/confirm-dialog.tsx';
import { formatCount } from '../../ui/format.ts';
import { useSpeech } from '../../words/words.ts';

export function DeleteRoute({
  of: route,
  carried,
  onClose,
}: {
  of: Route;
  carried: number;
  onClose: () => void;
}) {
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
