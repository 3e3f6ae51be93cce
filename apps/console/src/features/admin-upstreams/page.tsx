import { useQuery } from '@tanstack/react-query';
import { Plug, Plus } from 'lucide-react';
import { useState } from 'react';
import { upstreamsQuery, type Upstream } from '../../api/upstreams.ts';
import { paths } from '../../paths.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, TextLink } from '../../ui/button.tsx';
import { Page as Frame, Panel } from '../../ui/page.tsx';
import { optional, useSearchState, z } from '../../ui/search-state.ts';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { useWords } from '../../words/words.ts';
import { UpstreamDialog } from './upstream-dialogs.tsx';

const search = z.object({ create: optional(z.literal('1')) });

export function Page() {
  const { admin } = useWords();
  const { upstreams } = admin;
  const [{ create }, change] = useSearchState(search);
  const [isCreating, setCreating] = useState(create === '1');
  const list = useQuery(upstreamsQuery);
  const add = (
    <Button
      look="primary"
      icon={<Plus aria-hidden className="size-4" />}
      onClick={() => setCreating(true)}
    >
      {upstreams.add}
    </Button>
  );
  return (
    <Frame title={upstreams.title} purpose={upstreams.purpose} actions={add}>
      <Panel isFlush>
        <Loaded of={list}>
          {({ data }) => (
            <UpstreamsTable
              rows={data}
              empty={
                <EmptyState icon={<Plug aria-hidden />} title={upstreams.empty} action={add}>
                  {upstreams.emptyText}
                </EmptyState>
              }
            />
          )}
        </Loaded>
      </Panel>
      <UpstreamDialog
        isOpen={isCreating}
        onClose={() => {
          setCreating(false);
          change({ create: undefined });
        }}
      />
    </Frame>
  );
}

export function UpstreamState({ of: { enabled } }: { of: Upstream }) {
  const { admin } = useWords();
  const { upstreams } = admin;
  return (
    <Badge tone={enabled ? 'good' : 'off'}>
      {enabled ? upstreams.enabled : upstreams.disabled}
    </Badge>
  );
}

function UpstreamsTable({ rows, empty }: { rows: readonly Upstream[]; empty: React.ReactNode }) {
  const { admin } = useWords();
  const { upstreams } = admin;
  const columns: Column<Upstream>[] = [
    {
      id: 'name',
      header: upstreams.name,
      cell: ({ id, name }) => (
        <TextLink to={paths.adminUpstream(id)} className="foreign">
          {name}
        </TextLink>
      ),
    },
    { id: 'state', header: upstreams.status, cell: (row) => <UpstreamState of={row} /> },
    {
      id: 'protocol',
      header: upstreams.protocol,
      from: 'sm',
      cell: ({ protocol }) => upstreams.protocols[protocol],
    },
    {
      id: 'address',
      header: upstreams.baseUrl,
      from: 'md',
      cell: ({ base_url: url }) => <code className="foreign">{url}</code>,
    },
    {
      id: 'key',
      header: upstreams.key,
      from: 'lg',
      cell: ({ has_api_key: hasKey }) => (hasKey ? upstreams.hasKey : upstreams.noKey),
    },
  ];
  return (
    <Table
      label={upstreams.title}
      columns={columns}
      rows={rows}
      rowId={({ id }) => id}
      rowTo={({ id }) => paths.adminUpstream(id)}
      empty={empty}
    />
  );
}
