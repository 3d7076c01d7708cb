#!/bin/bash
mkdir -p letters/a letters/b
echo A > letters/a/name.txt
echo B > letters/b/name.txt
