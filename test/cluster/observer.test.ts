import { expect, onTestFinished, test } from 'vitest';
import { startServer } from '../fixture/postgres-server.ts';
