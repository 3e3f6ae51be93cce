import type { RefusedRequest } from '../../api/incidents.ts';
import { paths } from '../../paths.ts';
import { CopyText } from '../../ui/copy.tsx';
import { TextLink } from '../../ui/forms/button.tsx';
import { Facts, Panel } from '../../ui/page.tsx';
import { Exact } from '../../ui/time/time.tsx';
import { useWords } from '../../words/words.ts';
import { useRequestPath } from './request-path.ts';
import { RefusalBadge } from './outcome.tsx';

/** Says why a request was refused before it began. */
export function RefusedFacts({ of: refused }: { of: RefusedRequest }) {
  const { request, usage, general } = useWords();
  const isAdmin = useRequestPath() === paths.adminRequest;
  const { user_id: userId, key_id: keyId, node, rid } = refused;
  const user =
    userId === null ? '–' : <TextLink to={paths.adminUser(userId)}>{refused.username}</TextLink>;
  const key =
    keyId === null ? (
      '–'
    ) : (
      <TextLink to={isAdmin ? paths.adminKey(keyId) : paths.key(keyId)}>
        {refused.key_name}
      </TextLink>
    );
  return (
    <Panel>
      <Facts
        facts={[
          { name: usage.outcome, value: <RefusalBadge of={refused} /> },
          { name: usage.when, value: <Exact at={refused.at} />, isWide: true },
          ...(isAdmin ? [{ name: usage.user, value: user }] : []),
          { name: usage.model, value: <span className="foreign">{refused.model ?? '–'}</span> },
          { name: usage.key, value: key },
          ...(node === null ? [] : [{ name: usage.node, value: node }]),
        ]}
      />
      <p role="status" className="mt-3 text-text-2">
        {request.refused}
      </p>
      <p className="foreign mt-1">{refused.message}</p>
      <p className="mt-3 flex flex-wrap items-center gap-x-2 border-t border-line pt-3 text-table text-text-3">
        {general.requestId} <CopyText text={rid} label={general.requestId} />
      </p>
    </Panel>
  );
}
