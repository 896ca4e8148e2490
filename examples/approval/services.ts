/** What the flow does to the world. Here it is only said; put your own mail and bank in its place. */
export const services = {
  mail: (to: string, text: string): void => {
    console.log(`mail to ${to}: ${text}`);
  },
  /** A bank that knows the key does a transfer once, however often it is asked. */
  transfer: (to: string, cents: number, key: string): string => {
    console.log(`transfer to ${to}: ${cents / 100} EUR`);
    return `T-${key.slice(0, 8)}`;
  },
};
