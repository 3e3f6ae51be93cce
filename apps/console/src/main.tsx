import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/query-client.ts';
import { createConsoleRouter } from './router.tsx';
import { PasswordPrompt } from './shell/password-prompt.tsx';
import { recall } from './browser/preferences.ts';
import { Toasts } from './shell/toasts.tsx';
import './styles.css';
import { TooltipProvider } from './ui/tooltip.tsx';
import { SpeechProvider } from './words/speech-provider.tsx';
import { firstLanguage, loadWords } from './words/words.ts';
import { ZoneProvider } from './ui/time/zone.tsx';

const RELOADED = 'tollgate.reloaded';

/** After an upgrade an open page requests files that no longer exist; one reload fetches the new ones. */
window.addEventListener('vite:preloadError', (event) => {
  if (sessionStorage.getItem(RELOADED)) return;
  sessionStorage.setItem(RELOADED, '1');
  event.preventDefault();
  window.location.reload();
});

async function main(): Promise<void> {
  const language = firstLanguage(recall('language'), navigator.languages);
  const words = await loadWords(language);
  const router = createConsoleRouter();
  createRoot(document.querySelector('#root') as HTMLElement).render(
    <StrictMode>
      <CSPProvider disableStyleElements>
        <SpeechProvider first={{ language, words }}>
          <ZoneProvider>
            <QueryClientProvider client={queryClient}>
              <TooltipProvider>
                <RouterProvider router={router} />
                <Toasts />
                <PasswordPrompt />
              </TooltipProvider>
            </QueryClientProvider>
          </ZoneProvider>
        </SpeechProvider>
      </CSPProvider>
    </StrictMode>,
  );
}

void main();
