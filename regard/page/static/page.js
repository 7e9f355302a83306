// The page as its own server serves it, and as it is saved.

import { answeredBy } from './ask.js';
import { begin } from './main.js';
import { Server } from './server.js';

answeredBy(new Server());
begin();
