import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import {
  deleteNode,
  setNodeStopped,
  syncNode,
  toggleNode,
  type ProxyNode,
} from '../../api/fleet.ts';
import { paths } from '../../paths.ts';
import { useAct } from '../../ui/forms/act.ts';
import { Button } from '../../ui/forms/button.tsx';
import { ConfirmDialog } from '../../ui/forms/confirm-dialog.tsx';
import { formatCount } from '../../ui/format.ts';
import { Ellipsis } from '../../ui/icons.tsx';
import { Menu } from '../../ui/menu.tsx';
import { useSpeech, useWords } from '../../words/words.ts';

type NodeDialog = 'stop' | 'delete' | undefined;

export function NodeActs({ of: node }: { of: ProxyNode }) {
  const { admin, general } = useWords();
  const { nodes } = admin;
  const [open, setOpen] = useState<NodeDialog>();
  const { toggle, sync, start } = useNodeActs(node);
  return (
    <>
      {node.stopped ? (
        <Button look="primary" isBusy={start.isBusy} onClick={() => start.run(undefined)}>
          {nodes.start}
        </Button>
      ) : (
        <Button onClick={() => setOpen('stop')}>{nodes.stop}</Button>
      )}
      <Menu
        trigger={<Button icon={<Ellipsis aria-hidden className="size-4" />}>{general.more}</Button>}
        acts={[
          { label: nodes.syncOne, onAct: () => sync.run(undefined) },
          {
            label: node.enabled ? nodes.disable : nodes.enable,
            onAct: () => toggle.run(!node.enabled),
          },
          { label: nodes.remove, isDanger: true, onAct: () => setOpen('delete') },
        ]}
      />
      <NodeDialogs of={node} open={open} onClose={() => setOpen(undefined)} />
    </>
  );
}

function useNodeActs(node: ProxyNode) {
  const { nodes } = useWords().admin;
  const toggle = useAct({
    act: (isEnabled: boolean) => toggleNode(node.id, isEnabled),
    done: ({ name, enabled }) =>
      nodes.changed(name, enabled ? nodes.states.online : nodes.states.disabled),
  });
  const sync = useAct({
    act: () => syncNode(node.id),
    done: ({ nodes: answers }) =>
      answers.every(({ outcome }) => outcome === 'applied')
        ? nodes.synced(node.name)
        : nodes.notSynced(node.name),
  });
  const start = useAct({
    act: () => setNodeStopped(node.id, false),
    done: () => nodes.changed(node.name, nodes.states.online),
  });
  return { toggle, sync, start };
}

interface NodeDialogsProps {
  of: ProxyNode;
  open: NodeDialog;
  onClose: () => void;
}

/** Shows the dialogs that ask before they act on a node. */
function NodeDialogs({ of: node, open, onClose }: NodeDialogsProps) {
  const { words, locale } = useSpeech();
  const { nodes } = words.admin;
  const navigate = useNavigate();
  return (
    <>
      <ConfirmDialog
        title={`${nodes.stop}: ${node.name}`}
        text={nodes.stopText(formatCount(node.in_flight, locale))}
        verb={nodes.stop}
        isOpen={open === 'stop'}
        onClose={onClose}
        act={() => setNodeStopped(node.id, true)}
        done={() => nodes.changed(node.name, nodes.states.stopped)}
      />
      <ConfirmDialog
        title={`${nodes.remove}: ${node.name}`}
        text={nodes.removeText}
        verb={nodes.remove}
        isOpen={open === 'delete'}
        onClose={onClose}
        act={() => deleteNode(node.id)}
        done={() => nodes.removed(node.name)}
        onDone={() => navigate({ to: paths.adminNodes() })}
      />
    </>
  );
}
