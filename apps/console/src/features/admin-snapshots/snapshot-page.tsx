import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import {
  snapshotDiffQuery,
  snapshotQuery,
  snapshotsQuery,
  type Snapshot,
  type SnapshotKindDiff,
} from '../../api/fleet.ts';
import { isRefused } from '../../api/failure.ts';
import { paths } from '../../paths.ts';
import { formatCount } from '../../ui/format.ts';
import { CopyText } from '../../ui/copy.tsx';
import { Facts, Page as Frame, Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { useSpeech, useWords } from '../../words/words.ts';
import { Exact } from '../../ui/time/time.tsx';
import { useChangeWords } from './change-words.ts';
import { NodesOn } from './nodes-on.tsx';
import { PublishedBy, RollBack, VersionBadges } from './version.tsx';

const KINDS = ['models', 'upstreams', 'routes'] as const;

/** Shows what a version changed, against the one before. */
export function Page() {
  const { words, locale } = useSpeech();
  const { snapshots } = words.admin;
  const { version = '' } = useParams({ strict: false });
  const found = useQuery(snapshotQuery(Number(version)));
  const { data: first } = useQuery(snapshotsQuery(1));
  const newest = first?.data[0];
  return (
    <Frame
      title={`${snapshots.version} ${formatCount(Number(version), locale)}`}
      parent={{ to: paths.adminSnapshots(), label: snapshots.title }}
      actions={found.data && <RollBack of={found.data} newest={newest} />}
    >
      <Loaded of={found}>
        {(snapshot) => (
          <>
            <VersionFacts of={snapshot} newest={newest} />
            <Difference to={snapshot.version} />
          </>
        )}
      </Loaded>
    </Frame>
  );
}

function VersionFacts({ of, newest }: { of: Snapshot; newest: Snapshot | undefined }) {
  const { admin } = useWords();
  const { snapshots, nodes } = admin;
  const hasBadge = of.version === newest?.version || of.pinned || of.rollback_of !== null;
  const state = (
    <span className="flex flex-wrap gap-2">
      <VersionBadges of={of} newest={newest} />
    </span>
  );
  return (
    <Panel>
      <Facts
        facts={[
          { name: snapshots.state, value: hasBadge ? state : snapshots.replaced },
          { name: snapshots.at, value: <Exact at={of.created_at} /> },
          { name: snapshots.by, value: <PublishedBy of={of} /> },
          { name: nodes.title, value: <NodesOn version={of.version} /> },
          {
            name: snapshots.checksum,
            value: <CopyText text={of.checksum} label={snapshots.checksum} />,
            isWide: true,
          },
        ]}
      />
    </Panel>
  );
}

/** From the version before. */
function Difference({ to: version }: { to: number }) {
  const { snapshots } = useWords().admin;
  const diff = useQuery(snapshotDiffQuery(version));
  if (isRefused(diff.error, 'not_found') || version <= 1)
    return (
      <Panel>
        <EmptyState title={snapshots.firstVersion} />
      </Panel>
    );
  return (
    <Loaded of={diff}>
      {(found) =>
        KINDS.every((kind) => isEmpty(found[kind])) ? (
          <Panel>
            <EmptyState title={snapshots.noChange} />
          </Panel>
        ) : (
          KINDS.filter((kind) => !isEmpty(found[kind])).map((kind) => (
            <Panel key={kind} title={snapshots.kinds[kind]}>
              <KindDiff of={found[kind]} />
            </Panel>
          ))
        )
      }
    </Loaded>
  );
}

function isEmpty({ added, removed, changed }: SnapshotKindDiff): boolean {
  return added.length + removed.length + changed.length === 0;
}

function KindDiff({ of: { added, removed, changed } }: { of: SnapshotKindDiff }) {
  const { admin } = useWords();
  const { snapshots } = admin;
  const { nameOf, textOf } = useChangeWords();
  return (
    <ul className="flex flex-col gap-2">
      {added.map(({ id, name }) => (
        <Line key={`a${id}`} verb={snapshots.added} name={name} className="text-good" />
      ))}
      {removed.map(({ id, name }) => (
        <Line key={`r${id}`} verb={snapshots.removed} name={name} className="text-bad" />
      ))}
      {changed.map(({ id, name, changes }) => (
        <li key={`c${id}`}>
          <p>
            <span className="font-medium text-accent">{snapshots.changed}</span>{' '}
            <span className="foreign font-medium">{name}</span>
          </p>
          <ul className="mt-1 flex flex-col gap-0.5 border-l border-line pl-3 text-table text-text-2">
            {changes.map(({ path, from, to }) => (
              <li key={path} className="foreign">
                <span className="font-medium">{nameOf(path)}</span>
                {(from ?? to) !== undefined && (
                  <>
                    : {textOf(path, from)} → {textOf(path, to)}
                  </>
                )}
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  );
}

function Line({ verb, name, className }: { verb: string; name: string; className: string }) {
  return (
    <li>
      <span className={`font-medium ${className}`}>{verb}</span>{' '}
      <span className="foreign font-medium">{name}</span>
    </li>
  );
}
