/** Stands for the world outside. */
import { appendFileSync } from 'node:fs';

/** The provider knows a payment by its key. */
const receiptOf = (key: string): string => `R-${key.replaceAll(/[^A-Z0-9]/g, '')}`;

export const services = {
  mail(to: string, text: string): void {
    appendFileSync('mails.log', `${to}: ${text}\n`);
  },
  pay(customer: string, cents: number, key: string): string {
    appendFileSync('payments.log', `${key} ${customer} ${cents}\n`);
    return receiptOf(key);
  },
};
