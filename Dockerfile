# An image in which Level Zero programs run on the CPU: docker build -t anyzero . && docker run --rm anyzero
FROM python:3.12-slim
ARG PACKAGE=anyzero
RUN python -m pip install --no-cache-dir "$PACKAGE"
RUN anyzero doctor
# Whatever the container is asked to run finds the loader and the driver.
ENTRYPOINT ["anyzero", "run", "--"]
CMD ["anyzero", "info"]
