// Runs before the first paint, so that a chosen theme does not flash. It is a file, because the content policy allows no inline script.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem('tollgate.theme');
  } catch {
    // Storage may be closed to us; the system's theme stands.
  }
  const isDark =
    chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
})();
