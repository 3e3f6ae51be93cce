import { useQuery } from '@tanstack/react-query';
import { snapshotDiffQuery, type SnapshotKindDiff } from '../../api/fleet.ts';
import { isRefused } from '../../api/failure.ts';
import { Panel } from '../../ui/page.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { useWords } from '../../words/words.ts';
import { useChangeWords } from './change-words.ts';

const KINDS = ['models', 'upstreams', 'routes'] as const;

/** Shows what turns one version into another: the one before it, unless `from` is named. */
export function Difference({ from, to }: { from?: number; to: number }) {
  const { snapshots } = useWords().admin;
  const before = from ?? to - 1;
  const diff = useQuery(snapshotDiffQuery(before, to));
  if (isRefused(diff.error, 'not_found') || before < 1)
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
