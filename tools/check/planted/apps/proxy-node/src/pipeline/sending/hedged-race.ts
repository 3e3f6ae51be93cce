export const raceForContent = 1;
