const ZONES = [
  ...['UTC', 'Europe/Berlin', 'Europe/London', 'Europe/Lisbon', 'Europe/Moscow', 'Europe/Dublin'],
  ...['Europe/Istanbul', 'America/New_York', 'America/Chicago', 'America/Denver'],
  ...['America/Los_Angeles', 'America/Anchorage', 'America/Adak', 'America/St_Johns'],
  ...['America/Halifax', 'America/Havana', 'America/Santiago', 'America/Asuncion'],
  ...['America/Sao_Paulo', 'America/Bogota', 'America/Nuuk', 'America/Scoresbysund'],
  ...['Atlantic/Azores', 'Africa/Cairo', 'Africa/Casablanca', 'Africa/Lagos', 'Asia/Beirut'],
  ...['Asia/Jerusalem', 'Asia/Gaza', 'Asia/Kathmandu', 'Asia/Kolkata', 'Asia/Tehran'],
  ...['Asia/Tokyo', 'Asia/Shanghai', 'Australia/Lord_Howe', 'Australia/Adelaide'],
  ...['Australia/Sydney', 'Pacific/Auckland', 'Pacific/Chatham', 'Pacific/Kiritimati'],
];

/** Has 400 days with a leap day and both changes of daylight saving, and zones: some skip midnight, move by half an hour, lie beyond UTC+12, or have no daylight saving. */
export const CALENDAR = { zones: ZONES, from: Date.UTC(2027, 11, 1) / 1_000, days: 400 } as const;
