import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { accessTokensQuery, type AccessToken } from '../../api/account.ts';
import { useMe } from '../../api/session.ts';
import { useActedRows } from '../../ui/tables/acted-rows.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/forms/button.tsx';
import { Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/tables/table.tsx';
import { Ago } from '../../ui/time/time.tsx';
import { useWords, type Words } from '../../words/words.ts';
import { CreateTokenDialog } from './create-token.tsx';
import { RevokeTokenDialog } from './revoke-token.tsx';

/** Lists tokens for scripts; each can be revoked. */
export function AccessTokens() {
  const words = useWords();
  const { settings } = words;
  const me = useMe();
  const tokens = useQuery(accessTokensQuery(me.id));
  const [isCreating, setCreating] = useState(false);
  const [ending, setEnding] = useState<AccessToken>();
  const { shown, isActed, keep } = useActedRows(tokens.data?.data ?? [], ({ id }) => id);
  return (
    <Panel
      title={settings.tokens}
      isFlush
      actions={<Button onClick={() => setCreating(true)}>{settings.createToken}</Button>}
    >
      <p className="px-4 pb-3 text-table text-text-2">{settings.tokensPurpose}</p>
      <Loaded of={tokens}>
        {() => (
          <Table
            label={settings.tokens}
            columns={columnsOf(words, { isActed, run: setEnding })}
            rows={shown}
            rowId={({ id }) => id}
            empty={<EmptyState title={settings.noTokens}>{settings.noTokensText}</EmptyState>}
          />
        )}
      </Loaded>
      <CreateTokenDialog isOpen={isCreating} onClose={() => setCreating(false)} />
      {ending && (
        <RevokeTokenDialog
          of={ending}
          onClose={() => setEnding(undefined)}
          onRevoked={() => keep(ending)}
        />
      )}
    </Panel>
  );
}

interface Revoking {
  isActed: (token: AccessToken) => boolean;
  run: (token: AccessToken) => void;
}

function columnsOf(
  { settings, general }: Words,
  { isActed, run }: Revoking,
): Column<AccessToken>[] {
  return [
    {
      id: 'name',
      header: settings.tokenName,
      cell: ({ name, token_prefix: prefix }) => (
        <>
          <span className="foreign line-clamp-1 font-medium">{name}</span>
          <code className="text-tiny text-text-3">{prefix}…</code>
        </>
      ),
    },
    {
      id: 'scope',
      header: settings.scope,
      from: 'sm',
      cell: ({ scope }) => settings.scopes[scope],
    },
    {
      id: 'used',
      header: settings.lastUsed,
      from: 'sm',
      cell: ({ last_used_at: at }) => (at === null ? general.never : <Ago at={at} />),
    },
    { id: 'expires', header: settings.expires, cell: ({ expires_at: at }) => <Ago at={at} /> },
    {
      id: 'revoke',
      header: general.actions,
      align: 'right',
      cell: (token) => <RevokeCell isOver={isActed(token)} onRevoke={() => run(token)} />,
    },
  ];
}

function RevokeCell({ isOver, onRevoke }: { isOver: boolean; onRevoke: () => void }) {
  const { settings } = useWords();
  return isOver ? (
    <Badge tone="off">{settings.over}</Badge>
  ) : (
    <Button size="small" look="danger" onClick={onRevoke}>
      {settings.revoke}
    </Button>
  );
}
