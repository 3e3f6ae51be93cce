import { useQuery } from '@tanstack/react-query';
import { useLocation } from '@tanstack/react-router';
import { Circle, CircleCheck } from '../../ui/icons.tsx';
import { installationStepsQuery } from '../../api/admin.ts';
import { useLive } from '../../api/events/stream.ts';
import { paths } from '../../paths.ts';
import { ButtonLink } from '../../ui/forms/button.tsx';
import { NextBar } from '../../ui/tables/next-bar.tsx';
import { Panel } from '../../ui/page.tsx';
import { useWords } from '../../words/words.ts';

const ADDRESSES = {
  upstream: paths.adminUpstreams({ create: 1 }),
  model: paths.adminModels({ create: 1 }),
  price: paths.adminModels(),
  route: paths.adminRouting({ create: 1 }),
  node: paths.adminNodes(),
  user: paths.adminUsers(),
} as const;

/** Shows what a new installation still needs; gone once all of it is done. */
export function InstallationSteps() {
  const { admin } = useWords();
  const { steps } = admin.overview;
  const { data } = useQuery({ ...installationStepsQuery, ...useLive() });
  if (!data || data.is_complete) return null;
  const next = data.steps.find(({ is_done: isDone }) => !isDone)?.step;
  return (
    <Panel title={steps.title} note={steps.purpose}>
      <ol className="flex flex-col">
        {data.steps.map(({ step, is_done: isDone }) => (
          <li
            key={step}
            className="flex items-center gap-3 border-t border-line py-2.5 first:border-t-0 first:pt-0 last:pb-0"
          >
            {isDone ? (
              <CircleCheck aria-label={steps.done} className="size-5 text-good" />
            ) : (
              <Circle aria-label={steps.todo} className="size-5 text-text-3" />
            )}
            <span className="min-w-0 flex-1 font-medium">{steps[step]}</span>
            {!isDone && (
              <ButtonLink
                size="small"
                to={ADDRESSES[step]}
                look={step === next ? 'primary' : 'secondary'}
              >
                {steps.open}
              </ButtonLink>
            )}
          </li>
        ))}
      </ol>
    </Panel>
  );
}

/** Shows what comes next on the pages that the first steps lead over. */
export function NextInstallationStep() {
  const { admin, overview } = useWords();
  const { steps } = admin.overview;
  const { pathname } = useLocation();
  const { data } = useQuery({ ...installationStepsQuery, ...useLive() });
  const next = data?.steps.find(({ is_done: isDone }) => !isDone)?.step;
  if (data?.is_complete !== false || next === undefined) return null;
  const to = ADDRESSES[next];
  if (to.split('?')[0] === pathname) return null;
  return <NextBar text={overview.steps.next(steps[next])} way={{ label: steps.open, to }} />;
}
