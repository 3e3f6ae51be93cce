import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { deleteUpstream, routesQuery, type Upstream } from '../../api/upstreams.ts';
import { paths } from '../../paths.ts';
import { ConfirmDialog } from '../../ui/forms/confirm-dialog.tsx';
import { formatCount } from '../../ui/format.ts';
import { useSpeech } from '../../words/words.ts';
import { AddModelsDialog } from './add-models.tsx';
import { TestDialog, UpstreamKeyDialog } from './upstream-dialogs.tsx';
import { EditUpstreamDialog } from './upstream-form.tsx';

export type OpenDialog = 'edit' | 'key' | 'test' | 'models' | 'delete' | undefined;

interface UpstreamDialogsProps {
  of: Upstream;
  open: OpenDialog;
  onClose: () => void;
}

/** Shows what is done with one upstream. */
export function UpstreamDialogs({ of: upstream, open, onClose }: UpstreamDialogsProps) {
  const { words, locale } = useSpeech();
  const { upstreams } = words.admin;
  const navigate = useNavigate();
  const { data: routes } = useQuery(routesQuery);
  const count = routes?.data.filter(({ upstream_id: id }) => id === upstream.id).length ?? 0;
  return (
    <>
      <EditUpstreamDialog of={upstream} isOpen={open === 'edit'} onClose={onClose} />
      <UpstreamKeyDialog of={upstream} isOpen={open === 'key'} onClose={onClose} />
      <TestDialog of={upstream} isOpen={open === 'test'} onClose={onClose} />
      {open === 'models' && <AddModelsDialog of={upstream} onClose={onClose} />}
      <ConfirmDialog
        title={`${upstreams.remove}: ${upstream.name}`}
        text={upstreams.removeText(formatCount(count, locale))}
        verb={upstreams.remove}
        isOpen={open === 'delete'}
        onClose={onClose}
        act={() => deleteUpstream(upstream.id)}
        done={() => upstreams.removed(upstream.name)}
        onDone={() => navigate({ to: paths.adminUpstreams() })}
      />
    </>
  );
}
