import type { UsageReceipt } from '../../api/usage.ts';
import { Count } from '../../ui/figures.tsx';
import { Exact } from '../../ui/time/time.tsx';
import { formatCount } from '../../ui/format.ts';
import { useSpeech, useWords } from '../../words/words.ts';
import { ChargeCost } from './charge-cost.tsx';

const HEAD = 'px-4 h-9 text-tiny font-medium text-text-3';
const CELL = 'px-4 h-9 tabular';

/** Shows a charge that adds up: tokens times weight, their sum, rounded up once. */
export function ChargeTable({ of: receipt }: { of: UsageReceipt }) {
  const { request, tables } = useWords();
  const { lines, charge } = receipt;
  if (lines.length === 0)
    return <p className="border-t border-line px-4 py-4 text-text-2">{request.noLines}</p>;
  return (
    <>
      <table className="w-full border-t border-line text-table">
        <ChargeHead />
        <tbody>
          {lines.map((line) => (
            <tr key={line.class} className={line.count === 0 ? 'text-text-3' : ''}>
              <td className={CELL}>{tables.classes[line.class]}</td>
              <td className={`${CELL} text-right`}>
                <Count count={line.count} isWhole />
              </td>
              <td className={`${CELL} text-right`}>× {line.weight}</td>
              <td className={`${CELL} text-right`}>{line.charged}</td>
            </tr>
          ))}
        </tbody>
        <ChargeSum of={receipt} />
      </table>
      <p className="flex flex-wrap gap-x-4 gap-y-1 border-t border-line px-4 py-2.5 text-table text-text-2">
        {receipt.price && <ChargeCost charge={charge} price={receipt.price} />}
        <Tier above={receipt.tier_above_prompt_tokens} />
        <CacheSaving saved={receipt.cache_saved} />
        <span>
          {request.basis}: {request.bases[receipt.basis]}
        </span>
        {receipt.is_corrected && <span>{request.corrected}</span>}
      </p>
      <Bookings of={receipt} />
    </>
  );
}

/** Says that the weights are those of a long prompt. */
function Tier({ above }: { above: UsageReceipt['tier_above_prompt_tokens'] }) {
  const { words, locale } = useSpeech();
  return above === null ? null : <span>{words.request.tier(formatCount(above, locale))}</span>;
}

/** Says what the cache of the provider saved, or what writing to it cost more. */
function CacheSaving({ saved }: { saved: UsageReceipt['cache_saved'] }) {
  const { request } = useWords();
  if (saved === null) return null;
  return (
    <span>
      {saved.startsWith('-') ? request.cacheCost(saved.slice(1)) : request.cacheSaved(saved)}
    </span>
  );
}

function ChargeSum({ of: { sum, charge } }: { of: UsageReceipt }) {
  const { request } = useWords();
  return (
    <tfoot className="border-t border-line">
      <tr className="text-text-2">
        <td className={CELL} colSpan={3}>
          {request.sum}
        </td>
        <td className={`${CELL} text-right`}>{sum}</td>
      </tr>
      <tr className="font-semibold">
        <td className={CELL} colSpan={3}>
          {request.chargedTotal}
          {sum !== String(charge) && (
            <span className="font-normal text-text-3"> · {request.rounding}</span>
          )}
        </td>
        <td className={`${CELL} text-right`}>
          <Count count={charge} isWhole />
        </td>
      </tr>
    </tfoot>
  );
}

function ChargeHead() {
  const { request } = useWords();
  return (
    <thead>
      <tr className="border-b border-line">
        <th scope="col" className={`${HEAD} text-left`}>
          {request.tokenClass}
        </th>
        <th scope="col" className={`${HEAD} text-right`}>
          {request.count}
        </th>
        <th scope="col" className={`${HEAD} text-right`}>
          {request.weight}
        </th>
        <th scope="col" className={`${HEAD} text-right`}>
          {request.charged}
        </th>
      </tr>
    </thead>
  );
}

function Bookings({ of: { events } }: { of: UsageReceipt }) {
  const { request } = useWords();
  return (
    <details className="border-t border-line px-4 py-2.5 text-table">
      <summary className="cursor-pointer rounded-sm text-text-2">{request.events}</summary>
      <ul className="mt-2 flex flex-col gap-1">
        {events.map(({ seq, kind, charged_tokens: tokens, booked_at: at }) => (
          <li key={seq} className="flex flex-wrap gap-x-3 tabular">
            <span className="text-text-3">#{seq}</span>
            <span>{request.eventKinds[kind]}</span>
            <Count count={tokens} isWhole />
            <Exact at={at} />
          </li>
        ))}
      </ul>
    </details>
  );
}
