import { useQuery } from '@tanstack/react-query';
import { useLocation } from '@tanstack/react-router';
import { useLive } from '../../api/events/stream.ts';
import { firstStepsQuery } from '../../api/usage.ts';
import { useMe } from '../../api/session.ts';
import { walletQuery } from '../../api/wallet.ts';
import { paths } from '../../paths.ts';
import { NextBar } from '../../ui/tables/next-bar.tsx';
import { useWords } from '../../words/words.ts';

/** Shows what comes next on the pages that the first steps lead over, until the first call is made. */
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
  // A person who subscribes to a free model needs no money.
  const next = ways.find(
    ({ name }) => !isDone(name) && !(name === 'wallet' && isDone('subscription')),
  );
  if (!data || data.is_complete || !next || next.to.split('?')[0] === pathname) return null;
  if (next.name === 'wallet' && wallet?.payments === 'none')
    return <NextBar text={failures.codes.payments_not_configured} />;
  return <NextBar text={steps.next(next.title)} way={{ label: next.act, to: next.to }} />;
}
