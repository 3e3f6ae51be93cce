// `outbound` imports a library above it.
import '../../keyspace/src/index.ts';
