// This file has one violation of each house rule of the console.
import { Link } from '@tanstack/react-router';

export function Page() {
  void fetch('/admin-api/keys');
  return (
    <>
      <style>{'p { margin: 0 }'}</style>
      <Link to="/keys">Your keys</Link>
      <p className="text-[#ff0000]" aria-label="Everything is red" />
    </>
  );
}
