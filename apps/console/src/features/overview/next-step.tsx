import { useQuery } from '@tanstack/react-query';
import { useLocation } from '@tanstack/react-router';
import { useLive } from '../../api/stream.ts';
import { firstStepsQuery } from '../../api/usage.ts';
import { useMe } from '../../api/session.ts';
import { walletQuery } from '../../api/wallet.ts';
import { paths } from '../../paths.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { useWords } from '../../words/words.ts';

/** On the pages that the first steps lead over: what comes next, until the first call is made. */
export function NextStep() {
  const { overview, failures } = useWords();
  const { steps } = overview;
  const me = useMe();
  const { pathname } = useLocation();
  const { data } = useQuery({ ...firstStepsQuery, ...useLive() });
  const { data: wallet } = useQuery(walletQuery(me.id));
  const isDone = (name: string): boolean =>
    data?.steps.some(({ step, is_done: done }) => step === name && done) ?? false;
  const ways = [
    { name: 'wallet', title: steps.fund, act: steps.fundAct, to: paths.wallet({ recharge: 1 }) },
    {
      name: 'subscription',
      title: steps.subscribe,
      act: steps.subscribeAct,
      to: paths.market(),
    },
    { name: 'key', title: steps.key, act: steps.keyAct, to: paths.keys({ create: 1 }) },
    { name: 'first_call', title: steps.call, act: steps.callAct, to: paths.playground() },
  ];
  // Who subscribes to what costs nothing needs no money.
  const next = ways.find(
    ({ name }) => !isDone(name) && !(name === 'wallet' && isDone('subscription')),
  );
  if (!data || data.is_complete || !next || next.to.split('?')[0] === pathname) return null;
  const isOfAdministrator = next.name === 'wallet' && wallet?.payments === 'none';
  return (
    <section className="flex flex-wrap items-center gap-3 rounded-md border border-line bg-accent-soft px-4 py-2.5">
      <p className="min-w-0 flex-1 font-medium">
        {isOfAdministrator ? failures.codes.payments_not_configured : steps.next(next.title)}
      </p>
      {!isOfAdministrator && (
        <ButtonLink to={next.to} look="primary" size="small">
          {next.act}
        </ButtonLink>
      )}
    </section>
  );
}
