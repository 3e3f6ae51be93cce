import { useQuery } from '@tanstack/react-query';
import { catalogueQuery } from '../../api/catalogue.ts';
import { keysQuery } from '../../api/keys.ts';
import { subscriptionsQuery } from '../../api/models.ts';
import { statisticsQuery } from '../../api/usage.ts';
import type { Search } from '../../search.ts';
import { Button } from '../../ui/button.tsx';
import { SelectFilter, type Option } from '../../ui/field.tsx';
import { useTimeRange } from '../../ui/time-range.tsx';
import { useWords } from '../../words/words.ts';
import { totalsOf } from './course.ts';
import { groupsOf, type UsageSearch } from './usage-search.ts';
import { UserFilter } from './user-filter.tsx';

interface FilterBarProps {
  search: UsageSearch;
  onChange: (patch: Search) => void;
  /** Whose usage; undefined: of all accounts, or of the one that is chosen. */
  ownerId: number | undefined;
}

const NARROWING = ['user_id', 'model_id', 'key_id', 'upstream_id', 'outcome'] as const;
const NOTHING = Object.fromEntries(NARROWING.map((name) => [name, undefined]));

/** What narrows usage down. */
export function FilterBar({ search, onChange, ownerId }: FilterBarProps) {
  const { usage, general } = useWords();
  const accountId = ownerId ?? search.user_id;
  const options = { models: useModels(ownerId), keys: useKeys(accountId) };
  const upstreams = useUsedUpstreams(accountId);
  const narrow = (patch: Search): void => onChange({ ...patch, cursor: undefined });
  return (
    <>
      {ownerId === undefined && (
        <UserFilter
          key={search.user_id === undefined ? 'all' : 'one'}
          value={search.user_id}
          onChange={(id) => narrow({ user_id: id, key_id: undefined })}
        />
      )}
      <SelectFilter
        label={usage.model}
        value={String(search.model_id ?? '')}
        onChange={(value) => narrow({ model_id: value })}
        options={[{ value: '', label: usage.allModels }, ...options.models]}
      />
      {accountId !== undefined && (
        <SelectFilter
          label={usage.key}
          value={String(search.key_id ?? '')}
          onChange={(value) => narrow({ key_id: value })}
          options={[{ value: '', label: usage.allKeys }, ...options.keys]}
        />
      )}
      <SelectFilter
        label={usage.upstream}
        value={String(search.upstream_id ?? '')}
        onChange={(value) => narrow({ upstream_id: value })}
        options={[{ value: '', label: usage.allUpstreams }, ...upstreams]}
      />
      <SelectFilter
        label={usage.outcome}
        value={search.outcome ?? ''}
        onChange={(value) => narrow({ outcome: value })}
        options={[
          { value: '', label: usage.allOutcomes },
          ...Object.entries(usage.outcomes).map(([value, label]) => ({ value, label })),
        ]}
      />
      <SelectFilter
        label={usage.groupBy}
        value={search.group}
        onChange={(group) => onChange({ group })}
        options={groupsOf(ownerId).map((value) => ({
          value,
          label: `${usage.groupBy}: ${usage.groups[value]}`,
        }))}
      />
      {NARROWING.some((name) => search[name] !== undefined) && (
        <Button look="quiet" onClick={() => narrow(NOTHING)}>
          {general.clear}
        </Button>
      )}
    </>
  );
}

/** Of an account: what it subscribes to; of all: the catalogue. */
function useModels(ownerId: number | undefined): Option[] {
  const mine = useQuery({ ...subscriptionsQuery(ownerId ?? 0), enabled: ownerId !== undefined });
  const all = useQuery({ ...catalogueQuery({}), enabled: ownerId === undefined });
  return ownerId === undefined
    ? (all.data?.data ?? []).map(({ id, name }) => ({ value: String(id), label: name }))
    : (mine.data ?? []).map(({ model_id: id, model }) => ({ value: String(id), label: model }));
}

function useKeys(accountId: number | undefined): Option[] {
  const { data } = useQuery({
    ...keysQuery({ user_id: accountId ?? 0 }),
    enabled: accountId !== undefined,
  });
  return (data?.data ?? []).map(({ id, name }) => ({ value: String(id), label: name }));
}

/** Those that served requests in the range: users cannot list upstreams, and others would find nothing. */
function useUsedUpstreams(accountId: number | undefined): Option[] {
  const range = useTimeRange();
  const { usage } = useWords();
  const { data } = useQuery(
    statisticsQuery(
      { ...(accountId !== undefined && { user_id: accountId }), group_by: 'upstream' },
      range,
    ),
  );
  return (data ? totalsOf(data) : []).flatMap(({ id, name }) =>
    id === null ? [] : [{ value: String(id), label: name ?? usage.unknownName(String(id)) }],
  );
}
