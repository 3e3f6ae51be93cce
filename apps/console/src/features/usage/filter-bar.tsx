import { useQuery } from '@tanstack/react-query';
import { catalogueQuery } from '../../api/catalogue.ts';
import { keysQuery } from '../../api/keys.ts';
import { subscriptionsQuery } from '../../api/models.ts';
import { statisticsQuery } from '../../api/usage.ts';
import type { Search } from '../../search.ts';
import { Button } from '../../ui/forms/button.tsx';
import type { Option } from '../../ui/forms/field.tsx';
import { SelectFilter } from '../../ui/tables/select-filter.tsx';
import { useTimeRange } from '../../ui/time/time-range.tsx';
import { useWords } from '../../words/words.ts';
import { totalsOf } from './course.ts';
import { NamedFilter } from './named-filter.tsx';
import { groupsOf, type UsageSearch } from './usage-search.ts';
import { UserFilter } from './user-filter.tsx';

interface FilterBarProps {
  search: UsageSearch;
  onChange: (patch: Search) => void;
  /** Limits usage to this account. When it is undefined, the usage is that of all accounts, or of the one that is chosen. */
  ownerId: number | undefined;
}

const NARROWING = ['user_id', 'model_id', 'key_id', 'upstream_id', 'outcome'] as const;
const NOTHING = Object.fromEntries(NARROWING.map((name) => [name, undefined]));

/** Shows the filters that narrow the usage down. */
export function FilterBar({ search, onChange, ownerId }: FilterBarProps) {
  const { usage } = useWords();
  const accountId = ownerId ?? search.user_id;
  const models = useModels(ownerId);
  const narrow = (patch: Search): void => onChange({ ...patch, cursor: undefined });
  return (
    <>
      {ownerId === undefined && <OwnerFilter value={search.user_id} onChange={narrow} />}
      <NamedFilter
        label={usage.model}
        all={usage.allModels}
        value={search.model_id}
        named={models}
        onChange={(value) => narrow({ model_id: value })}
      />
      {accountId !== undefined && (
        <KeyFilter
          accountId={accountId}
          value={search.key_id}
          onChange={(value) => narrow({ key_id: value })}
        />
      )}
      {ownerId === undefined && (
        <UpstreamFilter
          accountId={accountId}
          value={search.upstream_id}
          onChange={(value) => narrow({ upstream_id: value })}
        />
      )}
      <GroupFilter
        value={search.group}
        ownerId={ownerId}
        onChange={(group) => onChange({ group })}
      />
      <ClearButton search={search} onClear={() => narrow(NOTHING)} />
    </>
  );
}

interface OwnerFilterProps {
  value: number | undefined;
  onChange: (patch: Search) => void;
}

/** A key belongs to one account, so another account ends the choice of a key. */
function OwnerFilter({ value, onChange }: OwnerFilterProps) {
  return (
    <UserFilter
      key={value === undefined ? 'all' : 'one'}
      value={value}
      onChange={(id) => onChange({ user_id: id, key_id: undefined })}
    />
  );
}

function ClearButton({ search, onClear }: { search: UsageSearch; onClear: () => void }) {
  const { general } = useWords();
  if (NARROWING.every((name) => search[name] === undefined)) return null;
  return (
    <Button look="quiet" onClick={onClear}>
      {general.clear}
    </Button>
  );
}

interface UpstreamFilterProps {
  accountId: number | undefined;
  value: number | undefined;
  onChange: (value: string) => void;
}

/** Only administrators get these filters, because users do not see suppliers. */
function UpstreamFilter({ accountId, value, onChange }: UpstreamFilterProps) {
  const { usage } = useWords();
  return (
    <NamedFilter
      label={usage.upstream}
      all={usage.allUpstreams}
      value={value}
      named={useUsedUpstreams(accountId)}
      onChange={onChange}
    />
  );
}

interface KeyFilterProps {
  accountId: number;
  value: number | undefined;
  onChange: (value: string) => void;
}

function KeyFilter({ accountId, value, onChange }: KeyFilterProps) {
  const { usage } = useWords();
  return (
    <NamedFilter
      label={usage.key}
      all={usage.allKeys}
      value={value}
      named={useKeys(accountId)}
      onChange={onChange}
    />
  );
}

interface GroupFilterProps {
  value: UsageSearch['group'];
  ownerId: number | undefined;
  onChange: (group: string) => void;
}

function GroupFilter({ value: group, ownerId, onChange }: GroupFilterProps) {
  const { usage } = useWords();
  return (
    <SelectFilter
      label={usage.groupBy}
      value={group}
      onChange={onChange}
      options={groupsOf(ownerId).map((value) => ({
        value,
        label: `${usage.groupBy}: ${usage.groups[value]}`,
      }))}
    />
  );
}

/** Returns the models of an account's subscriptions, or the catalogue when there is no account. */
function useModels(ownerId: number | undefined): Option[] {
  const mine = useQuery({ ...subscriptionsQuery(ownerId ?? 0), enabled: ownerId !== undefined });
  const all = useQuery({ ...catalogueQuery, enabled: ownerId === undefined });
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

/** Lists the upstreams that served requests in the range: others would find nothing. */
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
